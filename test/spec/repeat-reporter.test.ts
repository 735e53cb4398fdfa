import fc from '../support/fast-check.js';
import { repeats, type SuiteResult } from '../support/repeat-reporter.js';

const suite = (changes: Partial<SuiteResult> = {}): SuiteResult => ({
  testFilePath: '/repo/test/http/groups.test.ts',
  displayName: { name: 'unit' },
  testResults: [],
  ...changes,
});

const failed = (fullName: string, ...failureMessages: string[]) => ({ status: 'failed', fullName, failureMessages });
const passed = { status: 'passed', fullName: 'groups are listed', failureMessages: [] };

describe('the commands that repeat what failed', () => {
  it('are none for a suite that passed', () => {
    expect(repeats(suite({ testResults: [passed] }), '/repo', {})).toEqual([]);
  });

  it('name the seed, the suite and the test, in words for a shell', () => {
    const testResults = [passed, failed("groups doesn't list (all)", 'expected 1')];
    expect(repeats(suite({ testResults }), '/repo', { SEED: '7' })).toEqual([
      `SEED=7 npm test -- test/http/groups.test.ts -t '^groups doesn'\\''t list \\(all\\)$'`,
    ]);
  });

  it('name the store and the scale of the run', () => {
    const results = suite({ displayName: { name: 'cluster-http' }, testResults: [failed('x')] });
    expect(repeats(results, '/repo', { HARDENING_SCALE: '0.5', READ_YOUR_WRITES: '' })).toEqual([
      "SEED=1 HARDENING_SCALE=0.5 npm test -- --selectProjects cluster-http --testPathPatterns test/http/groups.test.ts -t '^x$'",
    ]);
  });

  it('are all of a suite that could not run', () => {
    expect(repeats(suite({ testExecError: new Error('syntax') }), '/repo', {})).toEqual([
      'SEED=1 npm test -- test/http/groups.test.ts',
    ]);
  });

  it('call the script of the fault suites', () => {
    const results = suite({
      testFilePath: '/repo/test/faults/kill.ts',
      displayName: undefined,
      testResults: [failed('x')],
    });
    expect(repeats(results, '/repo', {})).toEqual(["SEED=1 npm run test:faults -- test/faults/kill.ts -t '^x$'"]);
  });

  it('name the counterexample of a property', () => {
    const property = fc.property(fc.nat(), (n) => n <= 100);
    const { seed, counterexamplePath } = fc.check(property);
    expect(seed).toBe(Number(process.env.SEED || 1));
    const message = messageOf(() => fc.assert(property));
    expect(repeats(suite({ testResults: [failed('x', message)] }), '/repo', {})).toEqual([
      `SEED=${seed} FC_PATH=${counterexamplePath} npm test -- test/http/groups.test.ts -t '^x$'`,
    ]);
  });
});

function messageOf(fails: () => void): string {
  try {
    fails();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('the property held');
}
