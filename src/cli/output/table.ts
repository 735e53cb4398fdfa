import type { Style, Terminal } from '../terminal.js';
import { escapeLine } from './escape.js';

export interface Column<T> {
  header: string;
  /** The cell's text as the service gave it; the table escapes it. */
  value(item: T): string;
  /** May be cut on a narrow terminal. Identifiers must not be cut: people copy them. */
  shrinks?: boolean;
  style?(item: T): Style | undefined;
}

const GAP = '  ';
const NARROWEST = 8;
const EMPTY = '-';
const PLAIN = /^[\x20-\x7e]*$/;

/** Measures text that is not plain; loaded when there is some, since loading it takes as long as the command itself. */
let stringWidth: ((text: string) => number) | undefined;

/** Display cells; plain text, by far the most of it, is measured without the costly look at each character. */
const cellsOf = (text: string): number => (PLAIN.test(text) ? text.length : (stringWidth?.(text) ?? text.length));

/**
 * Prints rows in aligned columns, batch by batch: a column grows when a later batch needs more, so that a list of any
 * length takes the memory of one batch. The header is for people: it is shown on a terminal only.
 */
export class TablePrinter<T> {
  #widths: number[];
  #begun = false;

  constructor(
    readonly terminal: Terminal,
    readonly columns: readonly Column<T>[],
  ) {
    this.#widths = columns.map(({ header }) => (terminal.isTTY ? header.length : 1));
  }

  /** `below` returns lines to print under an item's row, unchanged. */
  async print(items: readonly T[], below: (item: T) => readonly string[] = () => []): Promise<void> {
    const rows = await this.#rows(items);
    this.#widths = this.#grown(rows);
    const widths = this.terminal.isTTY ? this.#fit(this.terminal.width) : this.#widths;
    const lines = items.flatMap((item, index) => [
      this.#line(rows[index] ?? [], widths, (column) => column.style?.(item)),
      ...below(item),
    ]);
    if (!this.#begun && this.terminal.isTTY) {
      lines.unshift(
        this.#line(
          this.columns.map(({ header }) => header),
          widths,
          () => 'bold',
        ),
      );
    }
    this.#begun = true;
    if (lines.length > 0) await this.terminal.out(`${lines.join('\n')}\n`);
  }

  /** Whether the items fit the terminal with nothing cut. */
  async fits(items: readonly T[]): Promise<boolean> {
    return lineWidth(this.#grown(await this.#rows(items))) <= this.terminal.width;
  }

  async #rows(items: readonly T[]): Promise<string[][]> {
    const rows = items.map((item) => this.columns.map((column) => escapeLine(column.value(item)) || EMPTY));
    if (!rows.flat().every((cell) => PLAIN.test(cell))) stringWidth ??= (await import('string-width')).default;
    return rows;
  }

  #grown(rows: readonly string[][]): number[] {
    return this.#widths.map((width, column) =>
      rows.reduce((widest, row) => Math.max(widest, cellsOf(row[column] ?? '')), width),
    );
  }

  #line(
    cells: readonly string[],
    widths: readonly number[],
    styleOf: (column: Column<T>) => Style | undefined,
  ): string {
    const last = cells.length - 1;
    return cells
      .map((cell, index) => {
        const width = widths[index] ?? 0;
        const shown = cut(cell, width);
        const style = styleOf(this.columns[index] as Column<T>);
        const painted = style ? this.terminal.paint(style, shown) : shown;
        return index === last ? painted : painted + ' '.repeat(Math.max(0, width - cellsOf(shown)));
      })
      .join(GAP);
  }

  /** Takes cells from the widest column that may shrink until the line fits, or none can give any more. */
  #fit(available: number): number[] {
    const widths = [...this.#widths];
    for (let excess = lineWidth(widths) - available; excess > 0; excess--) {
      let widest = -1;
      this.columns.forEach(({ header, shrinks }, index) => {
        const width = widths[index] ?? 0;
        // A column whose name is cut is no longer known for what it is.
        if (shrinks && width > Math.max(NARROWEST, header.length) && width > (widths[widest] ?? 0)) widest = index;
      });
      if (widest < 0) break;
      widths[widest] = (widths[widest] ?? 0) - 1;
    }
    return widths;
  }
}

const lineWidth = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1));

/** The text cut to so many display cells, ending with a mark; characters stay whole. */
function cut(text: string, width: number): string {
  if (cellsOf(text) <= width) return text;
  let kept = '';
  let cells = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    cells += cellsOf(segment);
    if (cells > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}
