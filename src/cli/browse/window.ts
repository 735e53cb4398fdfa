import type { Row } from './row.js';

/** Events in the order shown, as one call of the service returned them. */
interface Chunk {
  /** The path that it was read from; events that came while following have none. */
  readonly at: string | undefined;
  readonly rows: readonly Row[];
}

/** The part of a list that is in memory. What was dropped from it is read again when it is needed. */
export interface Window {
  /** The path of the list's first page. */
  readonly start: string;
  /** The paths of the pages that were dropped above, in their order. */
  readonly above: readonly string[];
  readonly chunks: readonly Chunk[];
  /** The path of the page below; undefined at the end of the list. */
  readonly below: string | undefined;
}

/** One page, read. */
export interface Loaded {
  readonly rows: readonly Row[];
  readonly next: string | undefined;
}

/** The most events, and the most characters of them, that are kept. The last page is kept, however large it is. */
export const MOST = { events: 4_000, characters: 32 * 1024 * 1024 } as const;
/** Events that came one by one are kept together up to this many, so that they can be dropped piece by piece. */
const CHUNK_EVENTS = 200;

export const rowsOf = ({ chunks }: Window): readonly Row[] => chunks.flatMap(({ rows }) => rows);

export const firstOf = (start: string, { rows, next }: Loaded): Window => ({
  start,
  above: [],
  chunks: [{ at: start, rows }],
  below: next,
});

/** Appends the page below; what becomes too much is dropped at the top. */
export function appended(window: Window, { rows, next }: Loaded): Window {
  const chunk = { at: window.below, rows: unseen(window, rows) };
  const chunks = [...window.chunks, chunk];
  let above = window.above;
  while (isTooMuch(chunks)) {
    const dropped = chunks.shift();
    // Events that came while following are on the first pages when these are read again.
    above = [...above, dropped?.at ?? window.start];
  }
  return { ...window, chunks, above, below: next };
}

/** Prepends the page above; what becomes too much is dropped at the bottom. */
export function prepended(window: Window, { rows, next }: Loaded): Window {
  const [at, above] = [window.above.at(-1), window.above.slice(0, -1)];
  // Events came in between: what is below has moved, and is read again.
  if (next !== window.chunks[0]?.at) return { ...window, above, chunks: [{ at, rows }], below: next };
  return trimmedBelow({ ...window, above, chunks: [{ at, rows: unseen(window, rows) }, ...window.chunks] });
}

/** Puts new events, oldest first, on top; what becomes too much is dropped at the bottom. */
export function arrived(window: Window, received: readonly Row[]): Window {
  const rows = unseen(window, received).toReversed();
  if (rows.length === 0) return window;
  const [first, ...others] = window.chunks;
  const joins = first !== undefined && first.at === undefined && first.rows.length + rows.length <= CHUNK_EVENTS;
  const chunks = joins
    ? [{ at: undefined, rows: [...rows, ...first.rows] }, ...others]
    : [{ at: undefined, rows }, ...window.chunks];
  return trimmedBelow({ ...window, chunks });
}

function trimmedBelow(window: Window): Window {
  const chunks = [...window.chunks];
  let below = window.below;
  while (isTooMuch(chunks)) below = chunks.pop()?.at ?? window.start;
  return { ...window, chunks, below };
}

/** Whether a chunk has to go. One stays. */
function isTooMuch(chunks: readonly Chunk[]): boolean {
  const rows = chunks.flatMap((chunk) => chunk.rows);
  return chunks.length > 1 && (rows.length > MOST.events || charactersOf(rows) > MOST.characters);
}

const charactersOf = (rows: readonly Row[]): number => rows.reduce((sum, { raw }) => sum + raw.length, 0);

/** Those that are not there yet: an event may come with a page and while following. */
function unseen(window: Window, rows: readonly Row[]): Row[] {
  const ids = new Set(rowsOf(window).map(({ id }) => id));
  return rows.filter(({ id }) => !ids.has(id));
}
