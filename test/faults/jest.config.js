import main from '../../jest.config.js';

/**
 * What takes too long for every run: `npm run test:faults`.
 *
 * @type {import('jest').Config}
 */
export default { ...main, rootDir: '../..', testMatch: ['<rootDir>/test/faults/kill.ts'], maxWorkers: 1 };
