import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const VERSION = '4.32.5';
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
  'response_headers_conformance',
];

/** The program, installed once a machine; undefined where Python or its package index is not to be had. */
export function schemathesis(): string | undefined {
  const folder = join(tmpdir(), `control-schemathesis-${VERSION}`);
  const program = join(folder, 'bin/schemathesis');
  if (existsSync(program)) return program;
  const unfinished = mkdtempSync(`${folder}-`);
  try {
    execFileSync('python3', ['-m', 'venv', unfinished], { stdio: 'pipe' });
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `schemathesis==${VERSION}`];
    execFileSync(join(unfinished, 'bin/python'), pip, { stdio: 'pipe', timeout: 180_000 });
    renameSync(unfinished, folder);
    // Its scripts name the folder in which they were made.
    execFileSync(join(folder, 'bin/python'), [...pip, '--force-reinstall', '--no-deps'], { stdio: 'pipe' });
    return program;
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    process.stderr.write(`schemathesis cannot be installed: ${(error as Error).message}\n`);
    return undefined;
  }
}

export interface SchemathesisRun {
  readonly url: string;
  readonly document: string;
  readonly org: string;
  readonly key: string;
  readonly rootKey: string;
  readonly examples: number;
  readonly seed: number;
}

export interface SchemathesisResult {
  readonly cases: number;
  readonly ok: boolean;
  /** What it printed, with each failure and how to repeat it. */
  readonly output: string;
}

/** Runs the program against the service: keys in its configuration file, so that no command line shows one. */
export async function runSchemathesis(program: string, run: SchemathesisRun): Promise<SchemathesisResult> {
  const folder = mkdtempSync(join(tmpdir(), 'control-schemathesis-run-'));
  const config = join(folder, 'schemathesis.toml');
  writeFileSync(config, configOf(run), { mode: 0o600 });
  const options = [
    ...['--config-file', config, 'run', run.document, '--url', run.url, '--checks', CHECKS.join(',')],
    ...['--phases', 'examples,coverage,fuzzing', '--max-examples', String(run.examples), '--seed', String(run.seed)],
    ...['--continue-on-failure', '--generation-database', 'none', '--no-color', '--suppress-health-check', 'all'],
    ...['--request-timeout', '20', '--warnings', 'off'],
  ];
  try {
    const { ok, output } = await finished(program, options, folder);
    const cases = Number(/(\d+) generated/.exec(output)?.[1] ?? 0);
    return { ok, output: shortened(output), cases };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function configOf({ org, key, rootKey }: SchemathesisRun): string {
  return [
    '[parameters]',
    `org = "${org}"`,
    '[headers]',
    `Authorization = "Bearer ${key}"`,
    '[[operations]]',
    'include-name = "POST /org"',
    `headers = { Authorization = "Bearer ${rootKey}" }`,
    '',
  ].join('\n');
}

async function finished(program: string, options: readonly string[], cwd: string) {
  try {
    const { stdout } = await promisify(execFile)(program, options, { cwd, maxBuffer: 256 * 1024 * 1024 });
    return { ok: true, output: stdout };
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    return { ok: false, output: `${stdout}\n${stderr}` };
  }
}

/** Whole requests can be very long; what they begin with is enough to tell them apart. */
function shortened(output: string): string {
  return output.replace(/^.{600,}$/gm, (line) => `${line.slice(0, 400)} ... (${line.length} characters)`);
}
