import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { temporaryFolder } from './svc.js';

export interface ScriptedEditor {
  /** The program; it edits the file that is its last argument. */
  readonly program: string;
  /** The texts that it was shown. */
  shown(): string[];
}

/** An editor that does in its first round what the first script says, and so on: `$f` is the file, a shell reads it. */
export function scriptedEditor(...rounds: string[]): ScriptedEditor {
  const folder = temporaryFolder();
  const program = join(folder, 'editor');
  const cases = rounds.map((round, index) => `${index}) ${round} ;;`);
  const script = `#!/bin/sh
for f; do :; done
n=0
while [ -e '${folder}/shown.'$n ]; do n=$((n + 1)); done
cp "$f" '${folder}/shown.'$n
case $n in
${cases.join('\n')}
*) exit 9 ;;
esac
`;
  writeFileSync(program, script);
  chmodSync(program, 0o755);
  return {
    program,
    shown() {
      const texts: string[] = [];
      for (let n = 0; existsSync(join(folder, `shown.${n}`)); n++) {
        texts.push(readFileSync(join(folder, `shown.${n}`), 'utf8'));
      }
      return texts;
    },
  };
}

/** A place in a script where it waits, for a test to do something meanwhile. */
export function pause(): { readonly script: string; meanwhile(work: () => Promise<unknown>): Promise<void> } {
  const flag = join(temporaryFolder(), 'waiting');
  return {
    script: `touch '${flag}'; while [ -e '${flag}' ]; do sleep 0.05; done`,
    async meanwhile(work) {
      while (!existsSync(flag)) await delay(20);
      await work();
      rmSync(flag);
    },
  };
}
