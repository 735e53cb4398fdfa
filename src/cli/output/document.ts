import { type Member, members } from '../../contract/json-text.js';
import type { Format } from '../command.js';
import type { Terminal } from '../terminal.js';
import { escapeLine, escapeLines } from './escape.js';
import { UsageError } from './failures.js';
import { objectText, oneLine, pretty } from './json-layout.js';
import { type Column, TablePrinter } from './table.js';

/** Formats that show the service's JSON, whole or slim. */
export type DocumentFormat = Extract<Format, 'json' | 'yaml' | 'json-slim' | 'yaml-slim'>;

/** Members that the service assigned; the slim formats leave them out. */
const ASSIGNED = new Set(['id', 'version', 'created', 'lastModified', 'links', 'status']);

export const isDocument = (format: Format): format is DocumentFormat => /^(json|yaml)/.test(format);
const isSlim = (format: DocumentFormat): boolean => format.endsWith('-slim');
const isJson = (format: DocumentFormat): boolean => format.startsWith('json');

/** A resource without what the service assigned. */
const slim = (resource: string): string => objectText(members(resource).filter(({ name }) => !ASSIGNED.has(name)));

/** Shows one resource. */
export async function showResource(terminal: Terminal, format: DocumentFormat, resource: string): Promise<void> {
  await terminal.out(await render(format, isSlim(format) ? slim(resource) : resource));
}

/** Shows the envelope of one resource: `{kind, item, links, ...}`. */
export async function showEnvelope(terminal: Terminal, format: DocumentFormat, envelope: string): Promise<void> {
  const shown = isSlim(format) ? objectText(slimEnvelope(members(envelope))) : envelope;
  await terminal.out(await render(format, shown));
}

const slimEnvelope = (envelope: readonly Member[]): Member[] =>
  envelope
    .filter(({ name }) => name !== 'links')
    .map(({ name, raw }) => ({ name, raw: name === 'item' ? slim(raw) : raw }));

async function render(format: DocumentFormat, json: string): Promise<string> {
  if (isJson(format)) return `${escapeLines(pretty(json))}\n`;
  const { toYaml } = await import('./yaml.js');
  return toYaml(json);
}

/** Where the items of a list go, page by page, so that a list of any length takes the memory of one page. */
export interface ListSink {
  /** `head`: the members of the envelope before the items. */
  begin(head: readonly Member[]): Promise<void>;
  items(raws: readonly string[]): Promise<void>;
  end(tail: readonly Member[]): Promise<void>;
}

export interface TextForms {
  /** Prints items as rows. */
  rows(raws: readonly string[]): Promise<void>;
  /** The one word that `--output names` shows of an item; nothing for an item without a name. */
  name(raw: string): string | undefined;
}

/** Items as rows of these columns, and as names. */
export function textForms<Item>(
  terminal: Terminal,
  columns: readonly Column<Item>[],
  name: (item: Item) => string,
): TextForms {
  const table = new TablePrinter(terminal, columns);
  const parse = (raw: string) => (JSON.parse(raw) ?? {}) as Item;
  return { rows: (raws) => table.print(raws.map(parse)), name: (raw) => name(parse(raw)) };
}

/** Shows a response: completely in a document format, otherwise its items as rows or names. */
export async function showAnswer<Item>(
  terminal: Terminal,
  format: Format,
  answer: string,
  { items, columns, name }: { items: readonly Item[]; columns: readonly Column<Item>[]; name: (item: Item) => string },
): Promise<void> {
  if (isDocument(format)) return showResource(terminal, format, answer);
  if (format === 'text') return new TablePrinter(terminal, columns).print(items);
  await printLines(terminal, items.map(name));
}

/** A key that was just issued, in each format; documents hold it already. */
export function showKeyOnce(terminal: Terminal, format: Format, key: unknown): Promise<void> {
  const place = isDocument(format) ? 'already' : format === 'text' ? 'as a line' : 'not';
  return key === undefined ? Promise.resolve() : terminal.showOnce(String(key), place);
}

/** Prints texts a line each; control characters are escaped. */
export const printLines = (terminal: Terminal, lines: readonly string[]): Promise<void> =>
  terminal.out(lines.map((line) => `${escapeLine(line)}\n`).join(''));

const ignore = async () => {};

/** The sink of a format. */
export function openList(terminal: Terminal, format: Format, forms: TextForms): ListSink {
  if (isDocument(format)) {
    return isJson(format) ? new JsonList(terminal, isSlim(format)) : new YamlList(terminal, isSlim(format));
  }
  if (format === 'text') return { begin: ignore, items: forms.rows, end: ignore };
  if (format !== 'names') throw new UsageError(`--output ${format} is not available for this list`);
  const named = (raws: readonly string[]) => raws.map(forms.name).filter((name) => name !== undefined);
  return { begin: ignore, items: (raws) => printLines(terminal, named(raws)), end: ignore };
}

/** Where an endless stream of events goes: each is a document of its own, in JSON a line. */
export function openStream(terminal: Terminal, format: Format, forms: TextForms): ListSink['items'] {
  if (!isDocument(format)) return openList(terminal, format, forms).items;
  const shown = (raw: string) => (isSlim(format) ? slim(raw) : raw);
  if (isJson(format))
    return (raws) => terminal.out(raws.map((raw) => `${escapeLines(oneLine(shown(raw)))}\n`).join(''));
  return async (raws) => {
    const { toYaml } = await import('./yaml.js');
    await terminal.out(raws.map((raw) => `---\n${toYaml(shown(raw))}`).join(''));
  };
}

class JsonList implements ListSink {
  #count = 0;

  constructor(
    readonly terminal: Terminal,
    readonly slim: boolean,
  ) {}

  async begin(head: readonly Member[]): Promise<void> {
    const lines = head.map(({ name, raw }) => `  ${JSON.stringify(name)}: ${pretty(raw, 1)},\n`);
    await this.#out(`{\n${lines.join('')}  "items": [`);
  }

  async items(raws: readonly string[]): Promise<void> {
    const texts = raws.map((raw) => `${this.#count++ > 0 ? ',' : ''}\n    ${pretty(this.slim ? slim(raw) : raw, 2)}`);
    await this.#out(texts.join(''));
  }

  async end(tail: readonly Member[]): Promise<void> {
    const shown = this.slim ? tail.filter(({ name }) => name !== 'links') : tail;
    const lines = shown.map(({ name, raw }) => `,\n  ${JSON.stringify(name)}: ${pretty(raw, 1)}`);
    await this.#out(`${this.#count > 0 ? '\n  ' : ''}]${lines.join('')}\n}\n`);
  }

  #out(text: string): Promise<void> {
    return this.terminal.out(escapeLines(text));
  }
}

class YamlList implements ListSink {
  #count = 0;

  constructor(
    readonly terminal: Terminal,
    readonly slim: boolean,
  ) {}

  async begin(head: readonly Member[]): Promise<void> {
    const { toYaml } = await import('./yaml.js');
    await this.terminal.out(`${head.length > 0 ? toYaml(objectText(head)) : ''}items:`);
  }

  async items(raws: readonly string[]): Promise<void> {
    if (raws.length === 0) return;
    const { toYaml } = await import('./yaml.js');
    const shown = this.slim ? raws.map(slim) : raws;
    // A list inside a map may have the map's own indentation: each page continues the one list.
    await this.terminal.out(`${this.#count === 0 ? '\n' : ''}${toYaml(`[${shown.join(',')}]`)}`);
    this.#count += raws.length;
  }

  async end(tail: readonly Member[]): Promise<void> {
    const { toYaml } = await import('./yaml.js');
    const shown = this.slim ? tail.filter(({ name }) => name !== 'links') : tail;
    const rest = shown.length > 0 ? toYaml(objectText(shown)) : '';
    await this.terminal.out(`${this.#count === 0 ? ' []\n' : ''}${rest}`);
  }
}
