/**
 * Says at the end of a run, for each test that failed, the command that runs this test alone with the same random choices.
 * Of what Jest gives a reporter it reads only the parts that are named here.
 */
export interface SuiteResult {
  readonly testFilePath: string;
  readonly displayName?: { readonly name: string } | undefined;
  readonly testExecError?: unknown;
  readonly testResults: readonly TestResult[];
}

interface TestResult {
  readonly status: string;
  readonly fullName: string;
  readonly failureMessages: readonly string[];
}

/** Settings of a run that change what a test does. */
const SCALES = ['HARDENING_SCALE', 'READ_YOUR_WRITES', 'FAULTS_ROUNDS'];

export default class RepeatReporter {
  onRunComplete(_contexts: unknown, { testResults }: { readonly testResults: readonly SuiteResult[] }): void {
    const commands = testResults.flatMap((suite) => repeats(suite, process.cwd(), process.env));
    if (commands.length > 0) process.stderr.write(`\nTo repeat what failed:\n  ${commands.join('\n  ')}\n`);
  }
}

/** The commands that repeat what failed in a suite; all of the suite if it could not run. */
export function repeats(suite: SuiteResult, folder: string, env: NodeJS.ProcessEnv): string[] {
  const path = suite.testFilePath.replace(`${folder}/`, '');
  const script = path.endsWith('.test.ts') ? 'npm test' : 'npm run test:faults';
  const project = suite.displayName?.name ?? 'unit';
  const select = project === 'unit' ? '' : ` --selectProjects ${project} --testPathPatterns`;
  const scales = SCALES.filter((name) => env[name]).map((name) => `${name}=${env[name]} `);
  const command = (settings: string) => `${settings}${scales.join('')}${script} --${select} ${path}`;
  const seed = env.SEED || '1';
  const failed = suite.testResults.filter(({ status }) => status === 'failed');
  if (failed.length === 0) return suite.testExecError ? [command(`SEED=${seed} `)] : [];
  return failed.map(({ fullName, failureMessages }) => {
    const property = failureMessages.map((message) => FAST_CHECK.exec(message)?.groups).find(Boolean);
    const settings = property ? `SEED=${property.seed} FC_PATH=${property.path} ` : `SEED=${seed} `;
    return `${command(settings)} -t ${quoted(`^${fullName.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`)}`;
  });
}

/** The line with which fast-check says how to repeat a failure. */
const FAST_CHECK = /\{ seed: (?<seed>-?\d+), path: "(?<path>[\d:]+)"/;

/** One word for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
