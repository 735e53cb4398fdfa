import type { Definition } from 'clipanion';
import { COMMON } from '../args/usage.js';
import type { Family } from '../commands/families.js';
import type { Terminal } from '../terminal.js';
import { EXIT } from './failures.js';

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
    const rows = [...families].map(([name, { summary }]) => ({ left: name, right: summary }));
    return this.#print([
      `svc ${version}: client of the Control Service`,
      this.#section('Usage', ['svc <command> [options]']),
      this.#section('Commands', table(rows)),
      'See `svc <command> --help`.',
    ]);
  }

  async showFamily(name: string, summary: string, definitions: readonly Definition[]): Promise<number> {
    const rows = definitions.map(({ path, description = '' }) => ({
      left: path.slice('svc '.length),
      right: oneLine(description),
    }));
    return this.#print([
      `svc ${name}: ${summary}`,
      this.#section('Commands', table(rows)),
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
    const lines = table(rows);
    return this.#print([
      oneLine(description ?? ''),
      this.#section('Usage', [`${usage.replace(/ \.\.\.$/, ' [...]')} [options]`]),
      ...(details ? [details.trim()] : []),
      ...(own.length > 0 ? [this.#section('Options', lines.slice(0, own.length))] : []),
      this.#section('Common options', lines.slice(own.length)),
      this.#section(
        'Examples',
        examples.flatMap(([label, command]) => [`# ${oneLine(label)}`, command]),
      ),
    ]);
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

function table(rows: readonly Row[]): string[] {
  const width = Math.max(...rows.map(({ left }) => left.length));
  return rows.map(({ left, right }) => `${left.padEnd(width)}  ${right}`);
}
