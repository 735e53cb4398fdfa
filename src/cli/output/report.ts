import type { Terminal } from '../terminal.js';
import { type Column, TablePrinter } from './table.js';
import { textOf as text } from './values.js';

/** A document that differs. */
interface ShownDifference {
  problem?: unknown;
  itemKind?: unknown;
  org?: unknown;
  id?: unknown;
  topic?: unknown;
  partition?: unknown;
  offset?: unknown;
  repaired?: unknown;
}

/** The report of a rebuild or of a reconciliation. */
export interface ShownReport {
  generation?: number;
  records?: number;
  unreadable?: number;
  compared?: number;
  repaired?: number;
  differences?: Record<string, number>;
  items?: ShownDifference[];
  omitted?: number;
}

const COLUMNS: readonly Column<ShownDifference>[] = [
  { header: 'PROBLEM', value: ({ problem }) => text(problem) },
  { header: 'KIND', value: ({ itemKind }) => text(itemKind) },
  { header: 'ORG', value: ({ org }) => text(org), shrinks: true },
  { header: 'ID', value: ({ id }) => text(id) },
  { header: 'PLACE', value: ({ topic, partition, offset }) => [topic, partition, offset].map(text).join('/') },
];

const REPAIRED: Column<ShownDifference> = {
  header: 'REPAIRED',
  value: ({ repaired }) => (repaired === true ? 'yes' : 'no'),
};

const NUMBERS = ['generation', 'records', 'unreadable', 'compared', 'repaired'] as const;

/** Shows the counts on one line, and below them the differences, one a line. */
export async function showReport(terminal: Terminal, report: ShownReport): Promise<void> {
  const { items = [], omitted = 0, differences = {} } = report;
  const numbers = NUMBERS.filter((name) => report[name] !== undefined).map((name) => [name, report[name]] as const);
  const counts = [...numbers, ...Object.entries(differences)].map(([name, count]): Column<ShownReport> => {
    return { header: name.toUpperCase(), value: () => text(count) };
  });
  await new TablePrinter(terminal, counts).print([report]);
  if (items.length === 0) return;
  await terminal.out('\n');
  await new TablePrinter(terminal, report.repaired === undefined ? COLUMNS : [...COLUMNS, REPAIRED]).print(items);
  if (omitted > 0) terminal.note(`${omitted} more are counted, but not named`);
}

export const total = ({ differences = {} }: ShownReport): number =>
  Object.values(differences).reduce((sum, count) => sum + count, 0);
