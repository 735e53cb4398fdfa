/** What a run does: `npm test` alone, with something named, or `npm run test:all`. */
export type Tier = 'quick' | 'named' | 'all';

/** An argument that names suites, tests or a project. */
const NAMING =
  /^(-t$|--(testNamePattern|testPathPatterns|runTestsByPath|selectProjects|findRelatedTests)\b|[^-].*[/a-z])/i;

/** The tier of `npm test`: quick, unless an argument names something or the environment asks for Kafka and Elasticsearch. */
export function tierOf(args: readonly string[], env: NodeJS.ProcessEnv): Tier {
  const asksForContainers = env.REQUIRE_CONTAINERS === '1' || Boolean(env.TEST_KAFKA_BROKERS);
  return asksForContainers || args.some((arg) => NAMING.test(arg)) ? 'named' : 'quick';
}

/** How much random and repeated work a run does. Variables of the environment go first. */
export const SCALES: Readonly<Record<Tier, Readonly<Record<string, string>>>> = {
  quick: { HARDENING_SCALE: '0.5' },
  named: {},
  all: { HARDENING_SCALE: '0.25', READ_YOUR_WRITES: '500', FAULTS_ROUNDS: '3' },
};

/**
 * Suites that `npm test` leaves to `npm run test:all`: they take long, and what they find shows in a quick suite too, or
 * changes rarely. `npm test -- PATH` runs one by name.
 */
export const SLOW: readonly string[] = [
  'cli/audit.test.ts',
  'cli/browse/terminal.test.ts',
  'cli/completion.test.ts',
  'cli/eventlog.test.ts',
  'cli/export.test.ts',
  'cli/group.test.ts',
  'cli/hostile/',
  'cli/install.test.ts',
  'cli/look-around.test.ts',
  'cli/many-users.test.ts',
  'cli/real-events.test.ts',
  'cli/readme.test.ts',
  'cli/round-trips.test.ts',
  'cli/specification/',
  'cli/tail.test.ts',
  'cli/transcripts.test.ts',
  'cli/user.test.ts',
  'client/foreign-lock.test.ts',
  'client/package.test.ts',
  'hardening/damage.test.ts',
  'interop/clients.test.ts',
  'hardening/held-sockets.test.ts',
  'hardening/ingest.test.ts',
  'hardening/schemathesis.test.ts',
  'hardening/slow-readers.test.ts',
  'hardening/stalls.test.ts',
  'http/freshness.test.ts',
  'interop/',
];
