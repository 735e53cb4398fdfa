import type { Definition } from 'clipanion';
import wrapAnsi from 'wrap-ansi';
import { COMMON } from '../args/usage.js';
import type { Family } from '../commands/families.js';
import type { Terminal } from '../terminal.js';
import { EXIT } from './failures.js';
import { TOPICS, type Topic } from './topics.js';

const [INDENT, GAP] = [2, 2];
/** The narrowest second column. */
const NARROWEST = 20;

/** Options that every command of the service has are listed after a command's own. */
const COMMON_NAMES = new Set(COMMON.options.flatMap(({ names }) => names));

interface Row {
  left: string;
  right: string;
}

/** Prints help from what the commands declare about themselves. Asking for help is no error: the exit code is 0. */
export class Help {
  constructor(readonly terminal: Terminal) {}

  async showRoot(version: string, families: ReadonlyMap<string, Family>): Promise<number> {
    const rows = (isAdministration: boolean) =>
      [...families]
        .filter(([, family]) => family.isAdministration === isAdministration)
        .map(([name, { summary }]) => ({ left: name, right: summary }));
    const topics = Array.from(TOPICS, ([name, { summary }]) => ({ left: name, right: summary }));
    return this.#print([
      `svc ${version}: client of the Control Service`,
      this.#section('Usage', ['svc <command> [options]']),
      this.#section('Everyday commands', this.#table(rows(false))),
      this.#section('Administration', this.#table(rows(true))),
      this.#section('Topics', this.#table(topics)),
      'See `svc <command> --help` and `svc help <topic>`.',
    ]);
  }

  async showTopic(name: string, { summary, rows, more }: Topic): Promise<number> {
    const lines = this.#table(rows.map(([left, right]) => ({ left, right })));
    return this.#print([`svc help ${name}: ${summary}`, lines.join('\n'), ...(more ? [more] : [])]);
  }

  async showFamily(name: string, summary: string, definitions: readonly Definition[]): Promise<number> {
    const rows = definitions.map(({ path, description = '' }) => ({
      left: path.slice('svc '.length),
      right: oneLine(description),
    }));
    return this.#print([
      `svc ${name}: ${summary}`,
      this.#section('Commands', this.#table(rows)),
      `See \`svc ${name} <command> --help\`.`,
    ]);
  }

  async showCommand({ usage, description, details, examples = [], options }: Definition): Promise<number> {
    const own = options.filter((option) => !isCommon(option.definition));
    const common = options.filter((option) => isCommon(option.definition));
    const helpRow = { definition: '-h,--help', description: 'show this help' };
    const rows = [...own, ...common, helpRow].map((option) => ({
      left: option.definition.replace(',', ', ').replace(' #0', ' <value>'),
      right: oneLine(option.description ?? ''),
    }));
    const ownLines = this.#table(rows.slice(0, own.length), widthOf(rows));
    const commonLines = this.#table(rows.slice(own.length), widthOf(rows));
    return this.#print([
      oneLine(description ?? ''),
      this.#section('Usage', [`${usage.replace(/ \.\.\.$/, ' [...]')} [options]`]),
      ...(details ? [this.#wrapped(details.trim(), this.#width).join('\n')] : []),
      ...(own.length > 0 ? [this.#section('Options', ownLines)] : []),
      this.#section('Common options', commonLines),
      this.#section(
        'Examples',
        examples.flatMap(([label, command]) => [`# ${oneLine(label)}`, command]),
      ),
    ]);
  }

  /** On a terminal; elsewhere lines stay whole, as tools for lines like them. */
  get #width(): number {
    return this.terminal.isTTY ? this.terminal.width : Number.POSITIVE_INFINITY;
  }

  /** Rows of two columns, of which the second is wrapped beside the first. */
  #table(rows: readonly Row[], width = widthOf(rows)): string[] {
    const room = Math.max(NARROWEST, this.#width - INDENT - width - GAP);
    return rows.flatMap(({ left, right }) => {
      const [first = '', ...others] = this.#wrapped(right, room);
      return [`${left.padEnd(width + GAP)}${first}`, ...others.map((line) => ' '.repeat(width + GAP) + line)];
    });
  }

  #wrapped(text: string, width: number): string[] {
    return (Number.isFinite(width) ? wrapAnsi(text, width) : text).split('\n');
  }

  #section(title: string, lines: readonly string[]): string {
    return [this.terminal.paint('bold', title), ...lines.map((line) => `  ${line}`)].join('\n');
  }

  async #print(blocks: readonly string[]): Promise<number> {
    await this.terminal.out(`${blocks.join('\n\n')}\n`);
    return EXIT.ok;
  }
}

const isCommon = (definition: string): boolean =>
  (definition.split(' ')[0] ?? '').split(',').some((n) => COMMON_NAMES.has(n));

const oneLine = (text: string): string => text.trim().replaceAll('\n', ' ');

const widthOf = (rows: readonly Row[]): number => Math.max(...rows.map(({ left }) => left.length));
