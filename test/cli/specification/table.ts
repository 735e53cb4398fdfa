import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The specification as it was given to the project: what the tables of its command-line client promise is tested. */
const SPECIFICATION = join(process.cwd(), 'test/fixtures/specification.txt');

type Row = readonly string[];

/** Each promise in one line, such as `group clone --description default the name`. */
export interface Promises {
  readonly common: readonly string[];
  readonly user: readonly string[];
  readonly group: readonly string[];
}

export function readPromises(): Promises {
  const text = readFileSync(SPECIFICATION, 'utf8');
  const users = rowsBelow(text, '#### `svc user` commands');
  const groups = rowsBelow(text, '#### `svc group` commands');
  return {
    common: rowsBelow(text, '#### Options accepted by every user and group command').flatMap(ofCommonOption),
    user: [...users.flatMap((row) => ofCommand('user', row, row)), ...columnsOf(text, 'User')],
    group: [
      ...groups.flatMap((row) => ofCommand('group', row, sameForUsers(row, users))),
      ...columnsOf(text, 'Group'),
      ...operatorsOf(text),
    ],
  };
}

/** The names of the commands of a table. */
export const commandsOf = (promises: readonly string[]): string[] => promises.filter((one) => /^\w+ [\w-]+$/.test(one));

/** The columns of a list, in their order. */
export const columnsIn = (promises: readonly string[]): string[] =>
  promises.flatMap((one) => / columns (.*)/.exec(one)?.[1]?.split(', ') ?? []);

/** The cells of the first table below a heading, without its two heading rows. */
function rowsBelow(text: string, heading: string): Row[] {
  const [, after] = text.split(`\n${heading}\n`);
  const table = /(?:^\|.*\n)+/m.exec(after ?? '')?.[0] ?? '';
  const rows = table.trimEnd().split('\n');
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** A row of the groups' table that says `as for users` means what the users' row says. */
function sameForUsers(row: Row, users: readonly Row[]): Row {
  return row[2] === 'as for users' ? (users.find(([name]) => name === row[0]) ?? row) : row;
}

function ofCommonOption([names = '', , description = '']: Row): string[] {
  const [option = '', ...aliases] = names.split(', ');
  const quoted = quotedWords(description).map(({ word, before }) =>
    /default( is)? $/.test(before) ? `${option} default ${word}` : `${option} ${word}`,
  );
  const more = /a value less than 1/.test(description) ? [`${option} below 1`] : [];
  return [option, ...aliases.map((alias) => `${option} alias ${alias}`), ...quoted, ...more];
}

function ofCommand(family: string, [name = '', places = '']: Row, [, , behaviour = '']: Row): string[] {
  const command = `${family} ${name}`;
  const ofPlaces = places === 'none' ? [`${command} none`] : placesOf(places).map((promise) => `${command} ${promise}`);
  const known = new Set([...ofPlaces, command]);
  const ofBehaviour = quotedWords(behaviour).map(({ word, before }) =>
    before.endsWith('alias ') ? `${command} alias ${word}` : `${command} ${word}`,
  );
  return [...known, ...ofBehaviour.filter((promise) => !known.has(promise))];
}

/** The promises of a cell `Arguments and options`. */
function placesOf(cell: string): string[] {
  const promises: string[] = [];
  let current = '';
  for (const { word, before, after, nested } of quotedWords(cell)) {
    if (nested) promises.push(`${current} ${/default $/.test(before) ? 'default' : 'choice'} ${word}`);
    else if (/default $/.test(before)) promises.push(`${current} default ${word}`);
    else if (/ \/ $/.test(before) || /^-\w$/.test(word)) promises.push(`${current} alias ${word}`);
    else {
      current = word.split(' ')[0] ?? word;
      promises.push(word);
    }
    if (/^<.*\.{3}>$/.test(word)) promises.push(`${current} one or more`);
    const own = after.split(/[;`]/)[0] ?? '';
    for (const [, mark] of own.matchAll(/\b(required|optional|default: [^)]+)/g)) {
      promises.push(`${current} ${mark?.replace(':', '')}`);
    }
  }
  return promises;
}

interface QuotedWord {
  readonly word: string;
  /** The cell's text up to here, and from here on. */
  readonly before: string;
  readonly after: string;
  /** Within parentheses. */
  readonly nested: boolean;
}

function quotedWords(cell: string): QuotedWord[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => {
    const before = cell.slice(0, match.index);
    const nested = before.lastIndexOf('(') > before.lastIndexOf(')');
    return { word: match[1] ?? '', before, after: cell.slice(match.index + match[0].length), nested };
  });
}

/** `Listed with these columns: id, full name, ...`: one promise, in their order. */
function columnsOf(text: string, resource: string): string[] {
  const section = text.split(`\n### ${resource}\n`)[1]?.split('\n### ')[0] ?? '';
  const columns = /Listed with these columns: ([^.]+)\./.exec(section)?.[1] ?? '';
  return [`${resource.toLowerCase()} get columns ${columns}`];
}

function operatorsOf(text: string): string[] {
  const [line = ''] = /^For `memberLinks`, the operator .*$/m.exec(text) ?? [];
  return quotedWords(line)
    .filter(({ word }) => /=$/.test(word))
    .map(({ word }) => `group update memberLinks ${word}`);
}
