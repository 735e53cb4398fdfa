import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { normalized, type Operator, type Written } from '../support/operator.js';

/**
 * A transcript is a readable file: what is typed stands behind `$ `, what comes back below it, indented. The commands
 * are the file's own; the rest of it is written by `UPDATE_TRANSCRIPTS=1` and then read by whoever changed something.
 */
interface Entry {
  /** Lines above the command that explain it. */
  readonly remarks: readonly string[];
  readonly command: string;
}

const FOLDER = join(process.cwd(), 'test/cli/transcripts');

export const UPDATES = process.env.UPDATE_TRANSCRIPTS === '1';

export function readTranscript(name: string): string {
  return readFileSync(join(FOLDER, `${name}.txt`), 'utf8');
}

export function writeTranscript(name: string, text: string): void {
  writeFileSync(join(FOLDER, `${name}.txt`), text);
}

export function entriesOf(text: string): Entry[] {
  const entries: Entry[] = [];
  let remarks: string[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('#')) remarks.push(line);
    if (!line.startsWith('$ ')) continue;
    entries.push({ remarks, command: line.slice(2) });
    remarks = [];
  }
  return entries;
}

/** An operator, and the name of the organization they work in; `acme` stands for it. */
interface Player {
  readonly who: Operator;
  readonly org: string;
}

/** Runs all commands twice: one operator has pipes, the other a terminal. */
export async function perform(entries: readonly Entry[], piped: Player, onTerminal: Player): Promise<string> {
  const inPipes = async () => {
    const all: Written[] = [];
    for (const { command } of entries) all.push(await piped.who.run(command));
    return all;
  };
  const onScreen = async () => {
    const all: Written[] = [];
    for (const { command } of entries) all.push(await onTerminal.who.runOnTerminal(command));
    return all;
  };
  const [pipes, screens] = await Promise.all([inPipes(), onScreen()]);
  const written = normalizedTogether(pipes, piped);
  const screen = normalizedTogether(screens, onTerminal);
  return entries
    .map(({ remarks, command }, index) => {
      const head = [...remarks, `$ ${command}`];
      return [...head, ...shown(written[index]), ...shownOnTerminal(screen[index], written[index])].join('\n');
    })
    .join('\n\n')
    .concat('\n');
}

/** An identifier that stands in several outputs is the same in all of them. */
function normalizedTogether(all: readonly Written[], { who, org }: Player): Written[] {
  const joint = '\u0000';
  const text = all.flatMap(({ stdout, stderr }) => [stdout, stderr]).join(joint);
  const texts = normalized(text.replaceAll(org, 'acme'), who.folder).split(joint);
  return all.map(({ code }, index) => ({ code, stdout: texts[2 * index] ?? '', stderr: texts[2 * index + 1] ?? '' }));
}

const MISSING: Written = { code: -1, stdout: '', stderr: '' };

function shown({ code, stdout, stderr }: Written = MISSING): string[] {
  return [
    `-- in a pipe, exit code ${code}`,
    ...indented(stdout),
    ...(stderr === '' ? [] : ['-- on standard error', ...indented(stderr)]),
  ];
}

function shownOnTerminal({ code, stdout }: Written = MISSING, pipe: Written = MISSING): string[] {
  const same = code === pipe.code && stdout === pipe.stdout + pipe.stderr;
  return same ? ['-- on a terminal, the same'] : [`-- on a terminal, exit code ${code}`, ...indented(stdout)];
}

/** Colours are seen as what they are. */
function indented(text: string): string[] {
  if (text === '') return [];
  const visible = text.replaceAll('\u001b', String.raw`\e`).replaceAll('\r', String.raw`\r`);
  const lines = visible.split('\n');
  if (lines.at(-1) === '') lines.pop();
  else lines[lines.length - 1] += '<no line feed>';
  return lines.map((line) => (line === '' ? '' : `  ${line}`));
}
