import { type Kind, kindOf, kindsWith } from '../../contract/kinds.js';
import { type Candidate, type Line, readLine } from './line.js';

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
      // Whoever is invited is no user yet.
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
