import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
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

/**
 * Runs all commands three times: one operator has pipes, one a terminal of 80 columns, one a terminal of 200 columns that
 * takes no sequences.
 */
export async function perform(entries: readonly Entry[], players: readonly [Player, Player, Player]): Promise<string> {
  const ways = [
    (who: Operator, command: string) => who.run(command),
    (who: Operator, command: string) => who.runOnTerminal(command),
    (who: Operator, command: string) => who.runOnTerminal(command, { TERM: 'dumb' }, 200),
  ] as const;
  const runs = players.map(async (player, at) => {
    const all: Written[] = [];
    for (const { command } of entries) all.push((await ways[at]?.(player.who, command)) ?? MISSING);
    return normalizedTogether(all, player);
  });
  const [pipes = [], screens = [], dumb = []] = await Promise.all(runs);
  return entries
    .map(({ remarks, command }, index) => {
      const [pipe, screen] = [pipes[index], screens[index]];
      const terminals = [...shownOnTerminal(screen, pipe), ...shownOnDumb(dumb[index], screen)];
      return [...remarks, `$ ${command}`, ...shown(pipe), ...terminals].join('\n');
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

/** Nothing if it is the same but for sequences. */
function shownOnDumb({ code, stdout }: Written = MISSING, screen: Written = MISSING): string[] {
  if (stdout.includes('\u001b')) throw new Error(`a dumb terminal was sent a sequence: ${JSON.stringify(stdout)}`);
  const same = code === screen.code && stdout === stripVTControlCharacters(screen.stdout);
  return same ? [] : [`-- on a dumb terminal of 200 columns, exit code ${code}`, ...indented(stdout)];
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
