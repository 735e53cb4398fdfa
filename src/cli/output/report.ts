import type { Terminal } from '../terminal.js';
import { type Column, TablePrinter } from './table.js';

/** What is shown of a document that differs. Nothing is believed to be what it should be. */
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

/** What the reports of a rebuild and of a reconciliation have in common. */
export interface ShownReport {
  compared?: number;
  repaired?: number;
  differences?: Record<string, number>;
  items?: ShownDifference[];
  omitted?: number;
}

const text = (value: unknown): string => (value == null ? '' : String(value));

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

/** The differences, one a line; what they add up to is for people, and goes to standard error. */
export async function showReport(terminal: Terminal, report: ShownReport, summary: string): Promise<void> {
  const { items = [], omitted = 0 } = report;
  const columns = report.repaired === undefined ? COLUMNS : [...COLUMNS, REPAIRED];
  await new TablePrinter(terminal, columns).print(items);
  const counts = Object.entries(report.differences ?? {}).map(([problem, count]) => `${count} ${problem}`);
  terminal.note(`${summary}: ${counts.join(', ')}`);
  if (omitted > 0) terminal.note(`${omitted} more are counted, but not shown`);
}

export const total = ({ differences = {} }: ShownReport): number =>
  Object.values(differences).reduce((sum, count) => sum + count, 0);
