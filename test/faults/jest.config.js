import main from '../../jest.config.js';

/**
 * What takes too long for every run: `npm run test:faults`. On the embedded store, and on Kafka and Elasticsearch where
 * those can be had.
 *
 * @type {import('jest').Config}
 */
export default {
  ...main,
  rootDir: '../..',
  testMatch: [
    '<rootDir>/test/faults/kill.ts',
    '<rootDir>/test/faults/power/power-loss.ts',
    '<rootDir>/test/faults/cluster/*.rounds.ts',
  ],
  globalSetup: '<rootDir>/test/cluster/setup.ts',
  globalTeardown: '<rootDir>/test/cluster/teardown.ts',
  maxWorkers: 1,
  reporters: ['default', '<rootDir>/test/support/repeat-reporter.ts'],
};
