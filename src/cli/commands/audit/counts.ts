import { type ApiClient, path } from '../../../client/api-client.js';
import { type Query, queryText } from '../../../client/pages.js';
import { barOf, columnsOf } from '../../output/blocks.js';
import { printLines } from '../../output/document.js';
import { type Column, TablePrinter } from '../../output/table.js';
import { textOf } from '../../output/values.js';
import type { Terminal } from '../../terminal.js';

/** What the service says of events that it counted. */
export interface Counts {
  readonly count: number;
  readonly without: number;
  readonly values: readonly { readonly value: string; readonly count: number }[];
  readonly error: number;
  readonly others: { readonly count: number; readonly values?: number };
  readonly buckets: readonly { readonly fromEvent: string; readonly count: number }[];
}

/** What events are counted by, by the words that people use. */
export const COUNTED = {
  action: 'actionType',
  result: 'resultStatus',
  subject: 'subjectEmail',
  resource: 'resourceName',
  'resource-id': 'resourceId',
  type: 'resourceType',
  context: 'contextName',
  publisher: 'publisher',
  location: 'location',
  gvc: 'gvcAlias',
  pod: 'podId',
} as const;
export type CountedBy = keyof typeof COUNTED;

/** The answer of the service as it is. */
export function countEvents(client: ApiClient, org: string, by: CountedBy, query: Query): Promise<string> {
  const at = path`/audit/org/${org}/-stats` + queryText({ by: COUNTED[by], ...query });
  return client.call({ method: 'GET', path: at, on: 'audit', retry: 'safe' });
}

const MOST_COLUMNS = 60;
const LABEL = 'YYYY-MM-DD HH:MM'.length;

/** How many columns a histogram has, so that it fits beside its largest count. */
export const histogramWidth = ({ width }: Terminal): number => Math.max(LABEL, Math.min(MOST_COLUMNS, width - 20));

/** Time from left to right, with the largest count, and both ends below. Nothing of events that nobody can see. */
export function histogramLines({ buckets, count }: Counts, until: string): string[] {
  if (buckets.length === 0 || count === 0) return [];
  const counts = buckets.map((bucket) => bucket.count);
  const first = labelOf(buckets[0]?.fromEvent ?? '');
  const last = labelOf(until);
  const ends = first + last.padStart(Math.max(buckets.length - first.length, last.length + 1));
  return [`${columnsOf(counts)}  at most ${Math.max(...counts).toLocaleString('en')}`, ends];
}

const labelOf = (instant: string): string => instant.slice(0, LABEL).replace('T', ' ');

const BAR = 24;

/** The values, the most frequent first, with a bar for the share; in a pipe a value and its count a line. */
export async function showValues(terminal: Terminal, by: CountedBy, counts: Counts): Promise<void> {
  const { values, others, without, count, error } = counts;
  const rest = [
    { value: othersText(others), count: others.count },
    { value: '(none)', count: without },
  ].filter((one) => one.count > 0);
  const all = [...values, ...rest];
  const digits = Math.max('EVENTS'.length, ...all.map((one) => textOf(one.count).length));
  const columns: Column<Counts['values'][number]>[] = [
    { header: by.toUpperCase(), value: ({ value }) => value || '""', shrinks: true },
    { header: 'EVENTS', value: (one) => textOf(one.count).padStart(terminal.isTTY ? digits : 0) },
  ];
  if (terminal.isTTY) {
    columns.push({ header: 'SHARE', value: (one) => percent(one.count / count).padStart('SHARE'.length) });
    columns.push({ header: '', value: (one) => barOf(one.count / count, BAR), shrinks: true });
  }
  await new TablePrinter(terminal, columns).print(all);
  if (error > 0) terminal.note(`there are very many values: each count is at most ${error} too low`);
}

const percent = (share: number): string => (share < 0.005 ? '<1%' : `${Math.round(100 * share)}%`);

function othersText({ values }: Counts['others']): string {
  return values === undefined ? '(all others)' : `(${values} other${values === 1 ? '' : 's'})`;
}

/** `1,234 events since 2026-11-16 09:00`. */
export function countText(count: number, from: string | undefined, until: string | undefined): string {
  const times = [from && `since ${labelOf(from)}`, until && `until ${labelOf(until)}`].filter(Boolean);
  return [`${count.toLocaleString('en')} ${count === 1 ? 'event' : 'events'}`, ...times].join(' ');
}

/** The head of what a person reads: how many, and when. */
export const showHead = (terminal: Terminal, lines: readonly string[]): Promise<void> =>
  printLines(
    terminal,
    lines.filter((line) => line !== ''),
  );
