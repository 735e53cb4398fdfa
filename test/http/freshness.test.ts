import { setTimeout as delay } from 'node:timers/promises';
import { type FastifyInstance, fastify } from 'fastify';
import { pino } from 'pino';
import type { DeniedAttempts } from '../../src/commands/denied-attempts.js';
import { Guesses } from '../../src/commands/guesses.js';
import { keyHash } from '../../src/commands/key-secrets.js';
import { emptyFold } from '../../src/control/fold.js';
import { ControlState } from '../../src/control/state.js';
import type { Batch, EventLog } from '../../src/event-log/event-log.js';
import { AccessCheck, onAll, onSome } from '../../src/http/access.js';
import { ErrorFilter } from '../../src/http/errors/filter.js';
import { prepareServer } from '../../src/http/server/server.js';
import { systemClock } from '../../src/platform/clock.js';
import { Metrics } from '../../src/platform/metrics.js';
import { PATIENCE } from '../support/patience.js';
import { Seed } from '../support/seed.js';
import { openSeededLog } from '../support/seeded-log.js';

/** The log as one process sees it: it may not answer, or its records may not arrive any more. */
class Sight {
  head: 'answers' | 'hangs' | 'fails' = 'answers';
  private standing: Promise<void> | undefined;
  private go: () => void = () => undefined;

  standStill(): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.standing = promise;
    this.go = resolve;
  }

  recover(): void {
    this.head = 'answers';
    this.standing = undefined;
    this.go();
  }

  of(log: EventLog): EventLog {
    const head = async (topic: 'control') => {
      if (this.head === 'hangs') await new Promise(() => undefined);
      if (this.head === 'fails') throw new Error('the broker is away');
      return log.head(topic);
    };
    const sight = this;
    async function* read(...given: Parameters<EventLog['read']>): AsyncGenerator<Batch> {
      for await (const batch of log.read(...given)) {
        await sight.standing;
        yield batch;
      }
    }
    return { head, read } as unknown as EventLog;
  }
}

interface Process {
  readonly sight: Sight;
  ask(key: string): Promise<string>;
  /** The domains that a list shows to the holder of the key. */
  listed(key: string): Promise<readonly string[]>;
}

const stop = new AbortController();
const servers: FastifyInstance[] = [];
const running: Promise<unknown>[] = [];
let log: EventLog;
let removeLog: () => Promise<void>;
let seed: Seed;
let admin: string;
const UNKNOWN = `svc_${'A'.repeat(43)}`;

beforeAll(async () => {
  seed = new Seed();
  admin = seed.org('acme');
  ({ log, remove: removeLog } = await openSeededLog(seed));
});

afterAll(async () => {
  stop.abort();
  await Promise.all(running);
  for (const server of servers) await server.close();
  await removeLog();
});

async function newProcess(sharing: 'alone' | 'shared'): Promise<Process> {
  const sight = new Sight();
  const state = new ControlState(sight.of(log), emptyFold(), sharing);
  running.push(state.run(stop.signal), state.keepFresh(stop.signal));
  const server = fastify();
  const denied = { note: () => undefined } as unknown as DeniedAttempts;
  const guesses = new Guesses(0, systemClock, new Metrics(), pino({ level: 'silent' }));
  const access = new AccessCheck(state, denied, systemClock, keyHash('root'), guesses, { note: () => undefined });
  prepareServer(server, access, { closedBecause: () => undefined, isStopping: false });
  const filter = new ErrorFilter(new Metrics());
  server.setErrorHandler((error, request, reply) => filter.send(error, request, reply));
  server.get('/org/:org/group', { config: { access: onAll('group', 'view') } }, async () => ({ ok: true }));
  server.get('/org/:org/domain', { config: { access: onSome('domain', 'view') } }, async ({ reach }) => [...reach]);
  servers.push(server);
  await state.startReached;
  await state.confirm();
  const ask = async (key: string) => {
    const { statusCode, headers, body } = await server.inject({
      url: '/org/acme/group',
      headers: { authorization: `Bearer ${key}` },
    });
    const code = (JSON.parse(body) as { code?: string }).code ?? 'ok';
    return `${statusCode} ${code}${headers['retry-after'] === undefined ? '' : ` retry after ${headers['retry-after']}`}`;
  };
  const listed = async (key: string) => {
    const answer = await server.inject({ url: '/org/acme/domain', headers: { authorization: `Bearer ${key}` } });
    return answer.json<string[]>();
  };
  return { sight, ask, listed };
}

const UNCONFIRMED = '503 state_unconfirmed retry after 1';

/** Longer than a state counts as fresh. */
const STALE_MS = 2_200;

/** A call that hangs takes 2 s, and the next one begins half a second later. */
const BACK_MS = 3_000 * PATIENCE;

describe.each(['hangs', 'fails'] as const)('where the log is shared, and its head %s', (how) => {
  test('every key is answered 503 when the state is older than 2 s, until the log is back', async () => {
    const { sight, ask } = await newProcess('shared');
    expect([await ask(admin), await ask(UNKNOWN)]).toEqual(['200 ok', '401 unauthenticated']);
    sight.head = how;
    expect(await ask(admin)).toBe('200 ok');
    await delay(STALE_MS);
    expect(await Promise.all([ask(admin), ask(UNKNOWN), ask(admin)])).toEqual([UNCONFIRMED, UNCONFIRMED, UNCONFIRMED]);
    sight.recover();
    // A call that hangs is given up first.
    for (const end = performance.now() + BACK_MS; (await ask(admin)) === UNCONFIRMED; await delay(10)) {
      expect(performance.now()).toBeLessThan(end);
    }
    expect([await ask(admin), await ask(UNKNOWN)]).toEqual(['200 ok', '401 unauthenticated']);
    await delay(STALE_MS);
    expect(await ask(admin)).toBe('200 ok');
  });

  test('an unknown key is not refused on the ground of a state that cannot be confirmed', async () => {
    const { sight, ask } = await newProcess('shared');
    sight.head = how;
    expect(await ask(UNKNOWN)).toBe(UNCONFIRMED);
  });
});

test('where its records do not arrive any more, no key is good that may have been revoked meanwhile', async () => {
  const { sight, ask } = await newProcess('shared');
  const revoked = seed.key('/org/acme/serviceaccount/admin');
  const append = () => log.append(seed.take());
  await append();
  expect(await ask(revoked)).toBe('200 ok');
  sight.standStill();
  seed.revokeKeys('/org/acme/serviceaccount/admin');
  await append();
  await delay(STALE_MS);
  expect(await ask(revoked)).toBe(UNCONFIRMED);
  sight.recover();
  expect(await ask(revoked)).toBe('401 unauthenticated');
});

test('a list does not leave out what the caller was given a moment ago, elsewhere', async () => {
  const { sight, listed } = await newProcess('shared');
  const viewer = seed.account('acme', 'viewer');
  const key = seed.key(viewer);
  const grant = (name: string) => {
    const domain = seed.domain('acme', name);
    const bindings = [{ permissions: ['view'], principalLinks: [viewer] }];
    seed.policy('acme', name.replaceAll('.', '-'), { targetKind: 'domain', targetLinks: [domain], bindings });
    return domain;
  };
  const first = grant('first.example.com');
  await log.append(seed.take());
  expect(await listed(key)).toEqual([first]);
  sight.standStill();
  const second = grant('second.example.com');
  await log.append(seed.take());
  const answer = listed(key);
  await delay(100);
  sight.recover();
  expect(await answer).toEqual([first, second]);
});

test('where the process writes the log alone, its state is always fresh', async () => {
  const { sight, ask } = await newProcess('alone');
  admin = seed.key('/org/acme/serviceaccount/admin');
  await log.append(seed.take());
  expect(await ask(admin)).toBe('200 ok');
  sight.head = 'hangs';
  await delay(STALE_MS);
  expect([await ask(admin), await ask(UNKNOWN)]).toEqual(['200 ok', UNCONFIRMED]);
});
