import { type Kind, kindOf, kindsWith } from '../../contract/kinds.js';
import { type Arguments, readArguments } from '../args/argv.js';
import { COMMON, findCommand, type Shape, shapeOf } from '../args/usage.js';
import type { Commands } from '../command.js';
import { FAMILIES } from '../commands/families.js';
import { UsageError } from '../output/failures.js';
import { TOPICS } from '../output/topics.js';

/** A word that may come next on a command line. */
export interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** The command that a line names so far. */
interface Found {
  /** The command's words; empty where none is named yet. */
  readonly path: readonly string[];
  readonly shape: Shape;
  /** The words that lead on to a command. */
  readonly next: readonly Candidate[];
}

interface Typed extends Arguments {
  /** The option that the line ends with, and that still needs its value. */
  readonly awaiting?: string;
}

/** A command line up to the word that is completed. */
interface Line extends Found, Typed {
  /** After `--` nothing is an option any more. */
  readonly isOnlyWords: boolean;
}

/** Reads whole words, without `svc` itself. Only the family that they name is loaded. Throws for a line that fits no command. */
async function readLine(words: readonly string[]): Promise<Line> {
  const isHelp = words[0] === 'help';
  const typed = isHelp ? words.slice(1) : words;
  const found = await lookUp(typed);
  const isOnlyWords = typed.includes('--');
  // `svc help` goes before the name of a command, not before its arguments.
  const next = typed.length === 0 ? [...found.next, ...topics()] : found.next;
  if (isHelp)
    return {
      ...found,
      next,
      shape: { options: [], places: [], needed: 0 },
      options: [],
      words: [...typed],
      isOnlyWords,
    };
  return { ...found, ...readTyped(typed, found.shape.options), isOnlyWords };
}

async function lookUp(typed: readonly string[]): Promise<Found> {
  const shape = COMMON;
  const [name] = readTyped(typed, shape.options).words;
  if (name === undefined) return { path: [], shape, next: families() };
  const commands = (await FAMILIES.get(name)?.load()) ?? [];
  const shapes = commands.map(shapeOf);
  const { words } = readTyped(
    typed,
    shapes.flatMap(({ options }) => options),
  );
  const command = findCommand(commands, words);
  if (command) return { path: command.paths?.[0] ?? [], shape: shapeOf(command), next: [] };
  return { path: [], shape, next: words.length === 1 ? leaves(commands) : [] };
}

function readTyped(typed: readonly string[], options: Shape['options']): Typed {
  try {
    return readArguments(typed, options);
  } catch (error) {
    const last = typed.at(-1) ?? '';
    // The last of several letters may take a value: `-ko`.
    const name = /^-[^-]/.test(last) ? `-${last.at(-1)}` : last;
    const option = options.find(({ names, takesValue }) => takesValue && names.includes(name));
    if (!(error instanceof UsageError) || !option) throw error;
    return { ...readArguments(typed.slice(0, -1), options), awaiting: name };
  }
}

const families = (): Candidate[] => [
  ...[...FAMILIES].map(([value, { summary }]) => ({ value, description: summary })),
  { value: 'help', description: 'show help' },
];

const topics = (): Candidate[] => Array.from(TOPICS, ([value, { summary }]) => ({ value, description: summary }));

const leaves = (commands: Commands): Candidate[] =>
  commands.map(({ paths, usage }) => ({ value: paths?.[0]?.[1] ?? '', description: usage?.description ?? '' }));

/** Names that are not in the program: of files, of profiles, or of the resources of a kind. */
type Source = 'files' | 'profiles' | Kind;

/** Reads names that the program does not know itself, from a prefix on. */
export type AskNames = (source: Exclude<Source, 'files'>, prefix: string, line: Line) => Promise<readonly Candidate[]>;

/** `files`: whatever the shell itself offers as names of files. */
export type Answer = readonly Candidate[] | 'files';

/** What the last of the words may become; `svc` itself is not among them. Throws for a line that fits no command. */
export async function complete(words: readonly string[], askNames: AskNames): Promise<Answer> {
  const current = words.at(-1) ?? '';
  const answer = await answerFor(await readLine(words.slice(0, -1)), current, askNames);
  return answer === 'files' ? answer : answer.filter(({ value }) => value.startsWith(current));
}

async function answerFor(line: Line, current: string, askNames: AskNames): Promise<Answer> {
  if (line.awaiting !== undefined) return valuesOf(line, line.awaiting, current, askNames);
  if (current.startsWith('-') && !line.isOnlyWords) return optionsOf(line, current, askNames);
  return line.next.length > 0 ? line.next : wordsOf(line, current, askNames);
}

async function optionsOf(line: Line, current: string, askNames: AskNames): Promise<Answer> {
  const [, name, prefix = ''] = /^(--[^=]+)=(.*)$/s.exec(current) ?? [];
  if (name === undefined) {
    const all = [...line.shape.options, { names: ['-h', '--help'], description: 'show help' }];
    return all.flatMap(({ names, description }) => names.map((value) => ({ value, description })));
  }
  const values = await valuesOf(line, name, prefix, askNames);
  return values === 'files' ? values : values.map((one) => ({ ...one, value: `${name}=${one.value}` }));
}

async function valuesOf(line: Line, name: string, prefix: string, askNames: AskNames): Promise<Answer> {
  const option = line.shape.options.find(({ names }) => names.includes(name));
  if (!option) return [];
  if (option.choices.length > 0) return option.choices.map((value) => ({ value, description: '' }));
  return namesFrom(sourceOfOption(option.names.at(-1) ?? name, line.path), line, prefix, askNames);
}

async function wordsOf(line: Line, current: string, askNames: AskNames): Promise<Answer> {
  const given = line.words.slice(line.path.length);
  const place = line.shape.places[given.length] ?? line.shape.rest ?? '';
  const answer = await namesFrom(sourceOfPlace(place, line.path), line, current, askNames);
  return answer === 'files' ? answer : answer.filter(({ value }) => !given.includes(value));
}

async function namesFrom(source: Source | undefined, line: Line, prefix: string, askNames: AskNames): Promise<Answer> {
  if (source === undefined || source === 'files') return source ?? [];
  return askNames(source, prefix, line);
}

/** What the value of a command's option names. */
function sourceOfOption(option: string, [family, leaf]: readonly string[]): Source | undefined {
  switch (option) {
    case '--file':
      return 'files';
    case '--to':
      return family === 'backup' ? 'files' : undefined;
    case '--profile':
      return 'profiles';
    case '--group':
    case '--serviceaccount':
      return kindOf(option.slice(2));
    case '--email':
      // Invited people are not users yet.
      return leaf === 'invite' ? undefined : kindOf('user');
    default:
      return undefined;
  }
}

/** What a word of a command names. */
function sourceOfPlace(place: string, [family, leaf]: readonly string[]): Source | undefined {
  if (place === 'ref') return kindsWith('query').find(({ name }) => name === family);
  return place === 'name' && family === 'profile' && leaf !== 'create' ? 'profiles' : undefined;
}
