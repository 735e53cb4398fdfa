import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cli, type Definition } from 'clipanion';
import { canonical, readArguments } from '../../src/cli/args/argv.js';
import { checkUsage, familyWords, findCommand, LEADING, shapeOf } from '../../src/cli/args/usage.js';
import { FAMILIES } from '../../src/cli/commands/families.js';
import { Terminal } from '../../src/cli/terminal.js';
import { temporaryFolder } from './support/svc.js';

const families = await Promise.all(
  [...FAMILIES].map(async ([name, { load }]) => {
    const commands = await load();
    const cli = Cli.from([...commands], { binaryName: 'svc' });
    return { name, commands, cli, definitions: cli.definitions() };
  }),
);

const each = families.flatMap(({ definitions }) =>
  definitions.map((definition): [string, Definition] => [definition.path, definition]),
);

/**
 * The calls of `svc` in a line of a shell: a real shell reads it, in which `svc` is a function that writes down what it
 * is given, and nothing else can be run.
 */
function callsIn(line: string): string[][] {
  const folder = temporaryFolder();
  for (const [, file = ''] of line.matchAll(/<\s*([\w.]+)/g)) writeFileSync(join(folder, file), '');
  for (const path of ['data', '.config/fish/completions']) mkdirSync(join(folder, path), { recursive: true });
  // Each call has a file of its own: those of a pipeline are made at the same time.
  const script = `svc() { printf '%s\\0' "$@" > "calls.$BASHPID.$((made++))"; }
command_not_found_handle() { :; }
PATH=/nowhere
${line}`;
  spawnSync('/bin/bash', ['-c', script], { cwd: folder, env: { HOME: folder } });
  const calls = readdirSync(folder).filter((name) => name.startsWith('calls.'));
  return calls.map((name) => readFileSync(join(folder, name), 'utf8').split('\0').slice(0, -1));
}

const { stdin, stdout, stderr } = process;
const terminal = new Terminal({ stdin, stdout, stderr }, {});

/** Reads the call as the runner does, up to the checks of its options. Throws what a user would be told. */
function check(call: readonly string[]): void {
  const [name] = readArguments(call, LEADING).words;
  const family = families.find((one) => one.name === name);
  if (!family) throw new Error(`there is no \`svc ${name}\``);
  const options = family.commands.flatMap((command) => shapeOf(command).options);
  const words = familyWords(call, options);
  const command = findCommand(family.commands, words);
  if (!command) throw new Error(`there is no command \`svc ${words.join(' ')}\``);
  const [path = [], shape] = [command.paths?.[0], shapeOf(command)];
  const given = readArguments(call, shape.options);
  checkUsage(path, shape, given);
  family.cli.process(canonical(given, path), {
    terminal,
    given: given.options,
    signal: new AbortController().signal,
    foreground: (run) => run(),
  });
}

describe('every command', () => {
  it('is listed by its family: none lacks a description', () => {
    for (const { commands, definitions } of families) expect(definitions).toHaveLength(commands.length);
  });

  it.each(each)('%s says what it does, and what each option is for', (_, { description, options }) => {
    expect(description?.trim()).toMatch(/^[^A-Z\s].*[^.\s]$/);
    expect(description?.trim().length).toBeLessThanOrEqual(80);
    for (const option of options)
      expect([option.definition, option.description?.trim()]).toEqual([
        option.definition,
        expect.stringMatching(/^[^.]/),
      ]);
  });

  it('checks and completes the words of an option that takes one of a few', () => {
    const options = families.flatMap(({ commands }) => commands.flatMap((command) => shapeOf(command).options));
    const listing = options.filter(({ description }) => /: (?:[\w-]+, )+[\w-]+;/.test(description));
    expect(listing.length).toBeGreaterThan(0);
    for (const { names, description, choices } of listing) {
      expect([names, description]).toEqual([names, expect.stringContaining(`: ${choices.join(', ')};`)]);
    }
  });

  it.each(each)('%s accepts its own examples', (path, { examples = [] }) => {
    expect(examples.length).toBeGreaterThan(0);
    const calls = examples.map(([label, line]) => {
      expect(label.trim()).not.toBe('');
      const found = callsIn(line);
      for (const call of found) check(call);
      return found;
    });
    expect(calls.flat().map((call) => `svc ${call.join(' ')} `)).toContainEqual(expect.stringMatching(`^${path} `));
  });

  it('fails for a wrong example', () => {
    for (const [call, message] of [
      ['svc org frobnicate', 'no command'],
      ['svc org get a b', 'unexpected word'],
      ['svc org get -o jsn', '--output is one of'],
      ['echo $(svc org get --colour)', 'unknown option'],
    ] as const) {
      expect(() => callsIn(call).forEach(check)).toThrow(message);
    }
  });
});
