/** @type {import('jest').Config} */
const base = {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: { '^.+\\.ts$': ['@swc/jest'] },
  testTimeout: 30_000,
  maxWorkers: 2,
};

const { maxWorkers, testTimeout, ...project } = base;

const projects = [
  { ...project, displayName: 'unit', testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/cluster/'] },
  {
    ...project,
    displayName: 'cluster',
    testMatch: ['<rootDir>/test/cluster/**/*.test.ts'],
    globalSetup: '<rootDir>/test/cluster/setup.ts',
    globalTeardown: '<rootDir>/test/cluster/teardown.ts',
  },
];

/**
 * Two projects: only the tests of `test/cluster` start containers, once for all of them. A function, because other
 * configurations spread this export to get the options alone: `{ ...main, testMatch: [...] }`.
 */
export default Object.assign(() => ({ projects, maxWorkers, testTimeout }), base);
