import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { PATIENCE } from '../../support/patience.js';
import { MAIN, NODE, temporaryFolder } from './svc.js';
import { SCRIPT } from './terminal.js';

/** Each line that is completed starts `svc` anew, on a machine that may have other things to do. */
const TIMEOUT_MS = 120_000;

/** The same as `it` where the programs are installed; elsewhere a skipped test whose name says what is missing. */
export function withPrograms(...programs: string[]): (name: string, test: () => Promise<void>) => void {
  const missing = programs.filter((program) => spawnSync(program, ['--version']).status !== 0);
  if (missing.length === 0) return (name, test) => it(name, test, TIMEOUT_MS);
  return (name, test) => it.skip(`${name}: NOT TESTED, not installed: ${missing.join(', ')}`, test);
}

/** An environment in which a shell finds `svc`. */
export function shellEnv(env: Record<string, string>): Record<string, string> {
  const home = temporaryFolder();
  const bin = join(home, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'svc'), `#!/bin/sh\nexec '${NODE}' '${MAIN}' "$@"\n`);
  chmodSync(join(bin, 'svc'), 0o755);
  // A shell whose terminal is gone would write its history while the folder is being removed.
  const ours = { HOME: home, HISTFILE: '/dev/null', TERM: 'dumb', LANG: 'C.UTF-8' };
  return { PATH: `${bin}:${process.env.PATH}`, ...ours, ...env };
}

/** A shell on a terminal, at which somebody types. */
export interface Prompt {
  /** Types, and answers what the screen got since then when it has the text. Throws when that takes too long. */
  type(keys: string, until: string): Promise<string>;
}

const open: ChildProcess[] = [];

/** Ends all shells of a test. */
export function closePrompts(): void {
  for (const shell of open.splice(0)) shell.kill('SIGKILL');
}

export async function openPrompt(command: string, env: Record<string, string>, begin: string): Promise<Prompt> {
  const shell = spawn(SCRIPT, ['-qec', `stty cols 200; exec ${command}`, '/dev/null'], { env });
  open.push(shell);
  let screen = '';
  shell.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
  });
  const prompt: Prompt = {
    async type(keys, until) {
      const before = screen.length;
      shell.stdin.write(keys);
      for (const deadline = Date.now() + 20_000 * PATIENCE; !screen.slice(before).includes(until); await delay(20)) {
        if (Date.now() > deadline)
          throw new Error(`no ${JSON.stringify(until)} in ${JSON.stringify(screen.slice(before))}`);
      }
      return screen.slice(before);
    },
  };
  // The marker is typed in two parts: the screen has it in one only when the shell has run the line.
  await prompt.type(`${begin}; echo rea''dy\r`, 'ready');
  return prompt;
}
