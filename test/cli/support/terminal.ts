import { spawn, spawnSync } from 'node:child_process';
import { MAIN, NODE } from './svc.js';

/** util-linux's `script`: gives a program a terminal of its own. Tests that need one are skipped where it is missing. */
export const SCRIPT = '/usr/bin/script';

export const withTerminal = spawnSync(SCRIPT, ['--version']).status === 0 ? it : it.skip;

/**
 * Runs `svc` on a terminal and types the keys once it shows the prompt. The result is all that the screen
 * got, and at its end `code <exit code>`.
 */
export async function svcOnTerminal(
  args: string,
  env: Record<string, string>,
  keys = '',
  prompt = 'Key: ',
  columns = 100,
): Promise<string> {
  const command = `trap : INT; stty cols ${columns}; '${NODE}' '${MAIN}' ${args}; echo "code $?"`;
  const child = spawn(SCRIPT, ['-qec', command, '/dev/null'], {
    env: { PATH: process.env.PATH ?? '', TERM: 'xterm', TZ: 'UTC', ...env },
  });
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const asked = screen.includes(prompt);
    screen += chunk;
    if (!asked && screen.includes(prompt)) child.stdin.write(keys);
  });
  await new Promise((closed) => child.on('close', closed));
  return screen.replaceAll('\r\n', '\n');
}
