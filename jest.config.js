import { SLOW } from './test/support/tiers.ts';

/** @type {import('jest').Config} */
const base = {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: { '^.+\\.ts$': ['@swc/jest'] },
  // Long: a machine that stands still for a while is no fault of the service. What hangs is found all the same.
  testTimeout: process.env.CI ? 600_000 : 120_000,
  // More than the two cores that it is meant for: many tests wait.
  maxWorkers: 3,
  // What a suite loaded stays in its worker: collecting it again and again costs more than a new worker now and then.
  workerIdleMemoryLimit: '600MB',
};

/** Set by `test/run.ts`. */
const isQuick = process.env.TEST_TIER === 'quick';

const { maxWorkers, workerIdleMemoryLimit, testTimeout, ...project } = base;

const testSequencer = '<rootDir>/test/support/longest-first.cjs';

/** The suites of `test/http` that ask nothing of the embedded store itself: they run on both stores, unchanged. */
const ON_BOTH_STORES = [
  'access',
  'access-reports',
  'audit-access',
  'audit-stats',
  'authorization-matrix',
  'bulk',
  'bulk-whole',
  'denied',
  'domains',
  'errors',
  'eventlogs',
  'export',
  'export-revoked',
  'freshness',
  'grants',
  'groups',
  'idempotency',
  'idempotency-publishers',
  'ingest',
  'ingest-mapping',
  'invitation-accept',
  'invitation-mail',
  'invitations',
  'json-bodies',
  'keys-shown-again',
  'keys-shown-to',
  'list-bytes',
  'last-used',
  'list-filters',
  'list-paging',
  'list-received',
  'numbers',
  'org',
  'otlp',
  'policies',
  'principals-documented',
  'proofs',
  'publish',
  'publish-faults',
  'publisher',
  'queries',
  'quotas',
  'read',
  'resource-names',
  'retention',
  'revoked',
  'security-events',
  'service-accounts',
  'spellings',
  'tlog',
  'user-keys',
  'users',
  'whoami',
];

/** The main commands of `svc`, too. */
const CLI_ON_BOTH_STORES = ['transcripts', 'verify', 'walk-through'];

const containers = {
  globalSetup: '<rootDir>/test/cluster/setup.ts',
  globalTeardown: '<rootDir>/test/cluster/teardown.ts',
};

const projects = [
  {
    ...project,
    displayName: 'unit',
    testPathIgnorePatterns: [
      ...['/node_modules/', '<rootDir>/test/cluster/'],
      ...(isQuick ? SLOW.map((name) => `<rootDir>/test/${name}`) : []),
    ],
  },
  {
    ...project,
    displayName: 'cluster',
    testMatch: ['<rootDir>/test/cluster/**/*.test.ts'],
    ...containers,
  },
  {
    ...project,
    displayName: 'cluster-http',
    testMatch: [
      ...ON_BOTH_STORES.map((name) => `<rootDir>/test/http/${name}.test.ts`),
      ...CLI_ON_BOTH_STORES.map((name) => `<rootDir>/test/cli/${name}.test.ts`),
    ],
    setupFilesAfterEnv: ['<rootDir>/test/cluster/http-store.ts'],
    ...containers,
  },
];

/** How a run is carried out and reported, whatever it runs. */
const run = {
  maxWorkers,
  workerIdleMemoryLimit,
  testTimeout,
  testSequencer,
  reporters: ['default', '<rootDir>/test/support/repeat-reporter.ts'],
};

/**
 * Three projects: only the last two start containers, once for both of them. A function, because other
 * configurations spread this export to get the options alone: `{ ...main, testMatch: [...] }`.
 */
export default Object.assign(() => ({ projects: isQuick ? projects.slice(0, 1) : projects, ...run }), base);
