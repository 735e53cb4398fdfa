import { type Candidate, type Line, readLine } from './line.js';
import { type Source, sourceOfOption, sourceOfPlace } from './sources.js';

/** Asks for names that the program does not know itself, from a prefix on. */
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
  return named(sourceOfOption(option.names.at(-1) ?? name, line.path), line, prefix, askNames);
}

async function wordsOf(line: Line, current: string, askNames: AskNames): Promise<Answer> {
  const given = line.words.slice(line.path.length);
  const place = line.shape.places[given.length] ?? line.shape.rest ?? '';
  const answer = await named(sourceOfPlace(place, line.path), line, current, askNames);
  return answer === 'files' ? answer : answer.filter(({ value }) => !given.includes(value));
}

async function named(source: Source | undefined, line: Line, prefix: string, askNames: AskNames): Promise<Answer> {
  if (source === undefined || source === 'files') return source ?? [];
  return askNames(source, prefix, line);
}
