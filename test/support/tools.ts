import { spawnSync } from 'node:child_process';

type Tool = 'helm' | 'promtool' | 'go' | 'openapi-generator' | 'openssl' | 'syslog-ng' | 'rsyslogd';

/**
 * `describe`, skipped where the program is missing: `.ci/tools` installs all but Go. With `REQUIRE_<NAME>=1` a missing program fails
 * the suite instead.
 */
export function withTool(name: Tool, probe: string): jest.Describe {
  const isThere = spawnSync(name, [probe], { timeout: 30_000 }).status === 0;
  const required = process.env[`REQUIRE_${name.toUpperCase().replaceAll('-', '_')}`] === '1';
  if (!isThere && !required) process.stderr.write(`SKIPPED: ${name} is not on the PATH; see CONTRIBUTING.md\n`);
  return isThere || required ? describe : describe.skip;
}

/** Returns what the program wrote, and its exit code. */
export function runTool(name: Tool, ...args: string[]): { code: number | null; out: string; err: string } {
  const { status, stdout, stderr, error } = spawnSync(name, args, { encoding: 'utf8', timeout: 60_000 });
  if (error) throw error;
  return { code: status, out: stdout, err: stderr };
}
