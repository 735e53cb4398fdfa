import type { Style, Terminal } from '../terminal.js';
import { escapeLine } from './escape.js';

export interface Column<T> {
  header: string;
  /** The cell's text as the service gave it; the table escapes it. */
  value(item: T): string;
  /** May be cut on a narrow terminal. Identifiers must not be cut: people copy them. */
  shrinks?: boolean;
  /** How wide it is in a table whose columns stay where they are; as wide as the header if it is absent. */
  usual?: number;
  style?(item: T): Style | undefined;
}

const GAP = '  ';
const TAB = '\t';
const NARROWEST = 8;
const EMPTY = '-';
const PLAIN = /^[\x20-\x7e✓✗•…]*$/;

/** Measures text that is not plain; loaded when there is some, since loading it takes as long as the command itself. */
let stringWidth: ((text: string) => number) | undefined;

/** Display cells; plain text, by far the most of it, is measured without the costly look at each character. */
const cellsOf = (text: string): number => (PLAIN.test(text) ? text.length : (stringWidth?.(text) ?? text.length));

/** Lines around the row of an item, printed unchanged. */
interface Around<T> {
  above?(item: T): readonly string[];
  below?(item: T): readonly string[];
}

/**
 * Prints rows, batch by batch. On a terminal they have a header and aligned columns: a column grows when a later batch needs
 * more, unless all are to be `steady`, so that a list of any length takes the memory of one batch. Elsewhere a row is its
 * cells with tabs between.
 */
export class TablePrinter<T> {
  #widths: number[];
  #begun = false;

  constructor(
    readonly terminal: Terminal,
    readonly columns: readonly Column<T>[],
    readonly steady = false,
  ) {
    this.#widths = columns.map(({ header, usual = 0 }) => Math.max(header.length, steady ? usual : 1));
  }

  async print(items: readonly T[], { above, below }: Around<T> = {}): Promise<void> {
    const rows = await this.#rows(items);
    if (!this.steady) this.#widths = this.#grown(rows);
    const widths = this.terminal.isTTY ? this.#fit(this.terminal.width) : undefined;
    const lines = items.flatMap((item, index) => [
      ...(above?.(item) ?? []),
      this.#line(rows[index] ?? [], widths, (column) => column.style?.(item)),
      ...(below?.(item) ?? []),
    ]);
    if (!this.#begun && widths) {
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
    widths: readonly number[] | undefined,
    styleOf: (column: Column<T>) => Style | undefined,
  ): string {
    const last = cells.length - 1;
    return cells
      .map((cell, index) => {
        const width = widths?.[index] ?? Number.POSITIVE_INFINITY;
        const shown = cut(cell, width);
        const style = styleOf(this.columns[index] as Column<T>);
        const painted = style && shown !== '' ? this.terminal.paint(style, shown) : shown;
        return widths === undefined || index === last
          ? painted
          : painted + ' '.repeat(Math.max(0, width - cellsOf(shown)));
      })
      .join(widths === undefined ? TAB : GAP);
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
