import type { Offsets, Topic } from '../../src/event-log/event-log.js';
import {
  type Document,
  type Fields,
  type Outcome,
  type OutcomeCode,
  type Position,
  type StoredDocument,
  sourceText,
  type Write,
} from '../../src/read-model/document.js';
import type { KindName } from '../../src/read-model/kinds.js';
import type {
  Generation,
  NextGeneration,
  Progress,
  ReadModel,
  ScanRange,
  StrayPage,
  StrayRange,
} from '../../src/read-model/read-model.js';
import type { Retention } from '../../src/read-model/retention.js';
import type { Cursor, Order, Page, SearchQuery } from '../../src/read-model/search.js';
import { type Case, cases, need, skipped } from './harness.js';

/** A new, empty read model. */
export interface ReadModelHarness {
  /** The model as it is open now: after `reopen`, the reopened one. */
  readonly model: ReadModel;
  /** What the model is opened with, also when it is opened again. */
  readonly retention: SetRetention;
  /** Closes the model and opens the same again. */
  reopen(): Promise<ReadModel>;
  /** From now on the store refuses to write. */
  failWrites?(): void;
  /** Ends `failWrites`. */
  repair?(): void;
  destroy(): Promise<void>;
}

/** The limits that a case sets: none at first. */
export class SetRetention implements Retention {
  private readonly byOrg = new Map<string, Map<string, number>>();

  /** Events of the organization's context that the log took before this instant have expired. */
  setLimit(org: string, value: string, before: number): void {
    const limits = this.byOrg.get(org) ?? new Map<string, number>();
    this.byOrg.set(org, limits.set(value, before));
  }

  limits(kind: KindName, org: string): ReadonlyMap<string, number> {
    return (kind === 'auditevent' && this.byOrg.get(org)) || new Map();
  }

  orgs(kind: KindName): Iterable<string> {
    return kind === 'auditevent' ? this.byOrg.keys() : [];
  }
}

export type ModelFeature = 'failWrites';

export interface ModelCases {
  readonly it: Case<ReadModelHarness>;
  /** Cases that need an optional part of the harness. */
  readonly itWith: Readonly<Record<ModelFeature, Case<ReadModelHarness>>>;
}

export function modelCases(open: () => Promise<ReadModelHarness>, without: readonly ModelFeature[]): ModelCases {
  const it = cases(open);
  return { it, itWith: { failWrites: without.includes('failWrites') ? skipped() : it } };
}

export function failWrites(harness: ReadModelHarness): void {
  need(harness.failWrites?.bind(harness), 'failWrites')();
}

export function repair(harness: ReadModelHarness): void {
  need(harness.repair?.bind(harness), 'repair')();
}

/** The instant of record 0 of every partition; record `n` is taken `n` milliseconds later. */
export const START = Date.UTC(2026, 0, 15);

export const ORG = 'acme';

export const NEWEST_FIRST: Order = { field: 'eventTime', direction: 'descending' };
export const OLDEST_FIRST: Order = { field: 'eventTime', direction: 'ascending' };
export const BY_NAME: Order = { field: 'name', direction: 'ascending' };

export function place(offset: number, other: Partial<Position> = {}): Position {
  return { topic: 'audit', partition: 0, offset, ordinal: 0, time: START + offset, ...other };
}

/** A UUIDv7 of the instant `START + n`; they ascend with `n`, and with `tie` at the same instant. */
export function idAt(n: number, tie = 0): string {
  const ms = (START + n).toString(16).padStart(12, '0');
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7000-8000-${tie.toString(16).padStart(12, '0')}`;
}

type Create = Write & { readonly op: 'create' };
type Put = Write & { readonly op: 'put' };
type Delete = Write & { readonly op: 'delete' };

/** The creation of event `n`, by record `n` of partition 0. */
export function event(n: number, other: Partial<Omit<Create, 'op' | 'kind'>> = {}): Create {
  const fields: Fields = { eventTime: START + n, contextName: 'shop', ...other.fields };
  const content = { source: `{"n":${n}}`, id: idAt(n), org: ORG, place: place(n), ...other };
  return { op: 'create', kind: 'auditevent', ...content, fields };
}

/** Events `from` to `to - 1`, as partition 0 has them. */
export const events = (from: number, to: number): Create[] =>
  Array.from({ length: to - from }, (_, n) => event(from + n));

export function put(id: string, offset: number, other: Partial<Omit<Put, 'op' | 'id'>> = {}): Put {
  const content = { fields: { name: id }, source: `{"at":${offset}}`, org: ORG, place: controlPlace(offset) };
  return { op: 'put', kind: 'serviceaccount', ...content, ...other, id };
}

export function remove(id: string, offset: number, other: Partial<Omit<Delete, 'op' | 'id'>> = {}): Delete {
  return { op: 'delete', kind: 'serviceaccount', org: ORG, place: controlPlace(offset), ...other, id };
}

export function controlPlace(offset: number, other: Partial<Position> = {}): Position {
  return place(offset, { topic: 'control', ...other });
}

export const codes = (outcomes: readonly Outcome[]): OutcomeCode[] => outcomes.map(({ code }) => code);

export const ids = (documents: readonly Pick<Document, 'id'>[]): string[] => documents.map(({ id }) => id);

/** What a reader gets to see of a write. */
export function documentOf({ id, place: at, fields, source }: Create | Put): Document {
  return { id, place: at, fields, source: sourceText({ source }) };
}

/** Applies to `audit`, in calls of 500, and makes it searchable. */
export async function store(model: Generation, writes: readonly Write[]): Promise<void> {
  for (let start = 0; start < writes.length; start += 500)
    await model.apply('audit', writes.slice(start, start + 500), {});
  await model.refresh();
}

/** Replaces what is live by a generation that is filled so. */
export async function rebuild(model: ReadModel, fill: (next: NextGeneration) => Promise<unknown>): Promise<void> {
  const next = await model.begin();
  await fill(next);
  await next.refresh();
  await promote(next);
  await model.progress('audit');
}

/** Longer than a case takes. */
export const LEASE_MS = 60_000;

export async function promote(next: NextGeneration): Promise<void> {
  await next.seal(LEASE_MS);
  await next.promote();
}

/** Sweeps all that is applied, to the end; answers how many documents that removed. */
export async function sweep(generation: Generation): Promise<number> {
  await generation.refresh();
  const removed = await generation.sweep(new AbortController().signal);
  await generation.refresh();
  return removed;
}

/** All pages of the range of partition 0 of `audit`, unless given. */
/** All of them, so many a page. */
export async function strays(
  model: Pick<Generation, 'strays'>,
  kind: KindName,
  ends: Readonly<Partial<Record<Topic, Offsets>>>,
  limit = 1_000,
): Promise<StoredDocument[]> {
  const found: StoredDocument[] = [];
  for (let range: StrayRange | undefined = { limit }; range; ) {
    const { documents, next }: StrayPage = await model.strays(kind, ends, range);
    found.push(...documents);
    range = next === undefined ? undefined : { limit, after: next };
  }
  return found;
}

export async function scan(
  generation: Generation,
  range: Partial<ScanRange> = {},
  kind: KindName = 'auditevent',
): Promise<StoredDocument[]> {
  const whole = { topic: 'audit', partition: 0, from: 0, to: 1_000_000, limit: 1000, ...range } as const;
  const all: StoredDocument[] = [];
  for (;;) {
    const after = all.at(-1);
    const page = await generation.scan(kind, { ...whole, ...(after && { after }) });
    all.push(...page);
    if (page.length < whole.limit) return all;
  }
}

/** One page of events, newest first unless given; of all there is at most 1000. */
export function search(
  model: ReadModel,
  query: Partial<SearchQuery> = {},
  kind: KindName = 'auditevent',
): Promise<Page> {
  return model.search(kind, {
    org: ORG,
    filters: [],
    order: kind === 'auditevent' ? NEWEST_FIRST : BY_NAME,
    limit: 1000,
    ...query,
  });
}

/** The numbers of the events that a search finds, ascending. */
export async function found(model: ReadModel, ...filters: SearchQuery['filters']): Promise<unknown[]> {
  const { items } = await search(model, { filters, order: OLDEST_FIRST });
  return items.map(({ source }) => JSON.parse(source).n);
}

/** Every page from the cursor on, until there is no more; cursors pass through JSON, as a link's do. */
export async function pages(
  model: ReadModel,
  query: Partial<SearchQuery>,
  kind: KindName = 'auditevent',
): Promise<Page[]> {
  const all: Page[] = [];
  let cursor: Cursor | undefined = query.cursor;
  for (;;) {
    const page = await search(model, { ...query, ...(cursor && { cursor }) }, kind);
    all.push(page);
    cursor = throughJson(page.cursor);
    if (!page.more) return all;
    if (page.items.length === 0) throw new Error('a page says there is more, but is empty');
  }
}

export async function allItems(
  model: ReadModel,
  query: Partial<SearchQuery>,
  kind: KindName = 'auditevent',
): Promise<Document[]> {
  return (await pages(model, query, kind)).flatMap(({ items }) => items);
}

export const throughJson = <T>(value: T): T => (value === undefined ? value : JSON.parse(JSON.stringify(value)));

/** The places of `next`; a partition that is not named stands at 0. */
export const nextOf = ({ next }: Progress, ...partitions: number[]): number[] =>
  partitions.map((one) => next[one] ?? 0);

/** The number that all topics agree on. */
export async function generationOf(generation: Generation): Promise<number> {
  const [audit, control] = [await generation.progress('audit'), await generation.progress('control')];
  expect(audit.generation).toBe(control.generation);
  return audit.generation;
}

export const none: Offsets = {};
