import { Cli, type Definition } from 'clipanion';
import { ClientError, Interrupted } from '../client/errors.js';
import { type Arguments, canonical, type GivenOption, readArguments } from './args/argv.js';
import { didYouMean } from './args/suggest.js';
import { checkUsage, familyWords, findCommand, LEADING, leafOf, refuseUnknown, shapeOf } from './args/usage.js';
import type { Commands, SvcContext } from './command.js';
import { FAMILIES, type Family } from './commands/families.js';
import { EXIT, exitCodeOf, hintsOf, UsageError } from './output/failures.js';
import type { Help } from './output/help.js';
import type { Topic } from './output/topics.js';
import { Terminal } from './terminal.js';

interface Surroundings extends Pick<SvcContext, 'terminal' | 'signal' | 'foreground'> {
  version: string;
  families: ReadonlyMap<string, Family>;
}

/** How long an interrupted command may take to say where it stopped. */
const INTERRUPT_GRACE_MS = 1_000;

/** Runs `svc` on the real process: streams, signals, exit code. */
export async function runProcess(version: string): Promise<void> {
  const { stdin, stdout, stderr } = process;
  const terminal = new Terminal({ stdin, stdout, stderr }, process.env);
  const interruption = new AbortController();
  const interrupt = () => {
    interruption.abort(new Interrupted());
    stdin.destroy();
    setTimeout(() => process.exit(EXIT.interrupted), INTERRUPT_GRACE_MS).unref();
  };
  const foreground: Surroundings['foreground'] = async (run) => {
    process.off('SIGINT', interrupt).on('SIGINT', ignore);
    try {
      return await run();
    } finally {
      process.off('SIGINT', ignore).once('SIGINT', interrupt);
    }
  };
  process.once('SIGINT', interrupt);
  const { signal } = interruption;
  const surroundings = { terminal, signal, foreground, version, families: FAMILIES };
  process.exitCode = await run(process.argv.slice(2), surroundings);
  // An unread standard input would keep the process alive.
  stdin.destroy();
}

/** Runs one command line. Never throws: the result is the exit code. */
export async function run(argv: readonly string[], surroundings: Surroundings): Promise<number> {
  const { terminal, signal } = surroundings;
  let code: number;
  try {
    code = await dispatch(argv, surroundings);
    await terminal.flush();
  } catch (error) {
    // After an interruption all kinds of things fail: none of them is news.
    code = signal.aborted ? EXIT.interrupted : report(error, terminal, argv.some(asksForDebug));
  }
  terminal.clearProgress();
  return signal.aborted ? EXIT.interrupted : code;
}

async function dispatch(argv: readonly string[], surroundings: Surroundings): Promise<number> {
  const { terminal, families } = surroundings;
  const leading = readArguments(argv, LEADING);
  applyToTerminal(leading.options, terminal);
  const helpWord = leading.words[0] === 'help';
  const [familyName] = helpWord ? leading.words.slice(1) : leading.words;
  if (familyName === undefined) return withoutCommand(leading, surroundings);
  const topic = helpWord ? await topicOf(familyName) : undefined;
  if (topic) return (await loadHelp(terminal)).showTopic(familyName, topic);
  const family = families.get(familyName);
  if (!family) throw unknownCommand(familyName, [...families.keys(), 'help'], 'svc --help');
  const words = helpWord ? without(argv, 'help') : argv;
  const commands = await family.load(leafOf(words));
  const options = commands.flatMap((one) => shapeOf(one).options);
  const command = findCommand(commands, familyWords(words, options));
  if (!command) {
    const given = readArguments(words, options);
    applyToTerminal(given.options, terminal);
    const [, leaf] = given.words;
    if (leaf !== undefined) throw unknownCommand(leaf, leaves(commands), `svc ${familyName} --help`);
    return (await loadHelp(terminal)).showFamily(familyName, family.summary, definitionsOf(commands));
  }
  // By the command's own options: another of the family may take `-f` in another way.
  const shape = shapeOf(command);
  const given = readArguments(words, shape.options);
  applyToTerminal(given.options, terminal);
  if (helpWord || isOn(given.options, '--help')) {
    const [definition] = definitionsOf([command]);
    if (definition) return (await loadHelp(terminal)).showCommand(definition);
  }
  const path = command.paths?.[0] ?? [];
  checkUsage(path, shape, given);
  return Cli.from<SvcContext>(command)
    .process(canonical(given, path), { ...surroundings, given: given.options })
    .validateAndExecute();
}

async function topicOf(name: string): Promise<Topic | undefined> {
  const { TOPICS } = await import('./output/topics.js');
  return TOPICS.get(name);
}

const definitionsOf = (commands: Commands): Definition[] =>
  Cli.from<SvcContext>([...commands], { binaryName: 'svc', enableColors: false }).definitions();

/** `svc`, `svc --help`, `svc --version`. */
async function withoutCommand(given: Arguments, { terminal, version, families }: Surroundings): Promise<number> {
  if (given.options.some(({ name }) => name === '--version')) {
    await terminal.out(`${version}\n`);
    return EXIT.ok;
  }
  refuseUnknown(given, LEADING);
  return (await loadHelp(terminal)).showRoot(version, families);
}

/** Says what went wrong, once; the result is the exit code. A stack trace is shown for the asking only. */
function report(error: unknown, terminal: Terminal, debug: boolean): number {
  if (error instanceof Interrupted) return EXIT.interrupted;
  const failure = error instanceof Error ? error : new Error(String(error));
  if (failure instanceof ClientError) terminal.error(failure.message, hintsOf(failure));
  else terminal.error(`unexpected: ${failure.message}`, debug ? [] : ['run it again with --debug for the place']);
  if (debug && failure.stack) terminal.note(failure.stack);
  return exitCodeOf(failure);
}

async function loadHelp(terminal: Terminal): Promise<Help> {
  const { Help } = await import('./output/help.js');
  return new Help(terminal);
}

/** The options that the messages of the runner itself obey, too. */
function applyToTerminal(options: readonly GivenOption[], terminal: Terminal): void {
  const last = (wanted: string) => options.findLast(({ name, known }) => known && name === wanted);
  const color = last('--color');
  if (color) terminal.setColor(color.value === true);
  if (last('--quiet')) terminal.setQuiet(last('--quiet')?.value === true);
}

const ignore = (): void => {};

const asksForDebug = (word: string): boolean => word === '--debug' || /^-[kvqy]*d[kvqy]*$/.test(word);

const isOn = (options: readonly GivenOption[], name: string): boolean =>
  options.some((option) => option.name === name && option.value === true);

const leaves = (commands: Commands): string[] =>
  commands.flatMap(({ paths }) => paths?.map((path) => path[1] ?? '') ?? []);

const without = (argv: readonly string[], word: string): string[] => argv.toSpliced(argv.indexOf(word), 1);

function unknownCommand(word: string, known: readonly string[], see: string): UsageError {
  return new UsageError(`unknown command \`${word}\``, [...didYouMean(word, known), `see \`${see}\``]);
}
