import { KIND_NAMES, type KindName, kindOf } from '../kinds.js';
import type { Retention } from '../retention.js';
import type { Target } from './apply.js';
import { bulk } from './bulk.js';
import { expiredBefore, type Hit, type Query, searchIn } from './query.js';

/** How many documents, by index. */
type Removed = ReadonlyMap<string, number>;

/** How many conditions one search has. */
const CONDITIONS = 100;

/** How many organizations one condition names. */
const ORGANIZATIONS = 1000;

/** How many documents are removed at once. */
const SLICE = 1000;

/**
 * Removes the expired documents that are searchable, and the pointers to them, each only in the version that was found: a
 * document that replaced one meanwhile stays. Stops early when the signal aborts. Returns how many documents it removed
 * from each index.
 */
export async function sweepDocuments(target: Target, retention: Retention, signal: AbortSignal): Promise<Removed> {
  const removed = new Map<string, number>();
  for (const kind of KIND_NAMES) {
    if (!kindOf(kind).expiresBy) continue;
    const conditions = conditionsOf(kind, retention);
    if (conditions.length === 0) continue;
    await refreshKeys(target);
    for (let start = 0; start < conditions.length; start += CONDITIONS) {
      await sweepMatching(target, kind, conditions.slice(start, start + CONDITIONS), signal, removed);
    }
    // Without it Elasticsearch keeps what was removed until the next sweep.
    if (removed.size > 0) await refreshKeys(target);
  }
  return removed;
}

/** Nothing else searches for pointers, so nothing else refreshes their index. */
async function refreshKeys({ es, names, generation }: Target): Promise<void> {
  await es.request('POST', `/${names.keys(generation)}/_refresh`);
}

/** One condition for all organizations with the same limit for the same classes, as most have by default. */
function conditionsOf(kind: KindName, retention: Retention): Query[] {
  const groups = new Map<string, { readonly orgs: string[]; readonly expired: Query }>();
  for (const org of retention.orgs(kind)) {
    const limits = [...retention.limits(kind, org)].filter(([, limit]) => limit > 0);
    for (const [limit, entries] of Map.groupBy(limits, ([, limit]) => limit)) {
      const classes = entries.map(([name]) => name);
      const key = JSON.stringify([limit, ...classes]);
      const group = groups.get(key) ?? { orgs: [], expired: expiredBefore(kind, classes, limit) };
      groups.set(key, group);
      group.orgs.push(org);
    }
  }
  return [...groups.values()].flatMap(({ orgs, expired }) =>
    slices(orgs, ORGANIZATIONS).map((some) => ({ bool: { filter: [{ terms: { org: some } }, expired] } })),
  );
}

function slices<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) => items.slice(n * size, (n + 1) * size));
}

async function sweepMatching(
  target: Target,
  kind: KindName,
  should: readonly Query[],
  signal: AbortSignal,
  removed: Map<string, number>,
): Promise<void> {
  const { es, names, generation } = target;
  const indices = `${names.documents(generation, kind)},${names.keys(generation)}`;
  let last: Hit | undefined;
  while (!signal.aborted) {
    const { hits } = await searchIn(es, indices, {
      query: { bool: { should, minimum_should_match: 1 } },
      sort: [{ time: 'asc' }, { id: 'asc' }, { _index: 'asc' }],
      size: SLICE,
      _source: false,
      seq_no_primary_term: true,
      ...(last?.sort && { search_after: last.sort }),
    });
    await removeAll(target, hits, removed);
    last = hits.at(-1);
    if (hits.length < SLICE) break;
  }
}

async function removeAll(
  { es, names, generation }: Target,
  hits: readonly Hit[],
  removed: Map<string, number>,
): Promise<void> {
  const results = await bulk(
    es,
    names,
    hits.map(({ _index, _id, _seq_no = -1, _primary_term = 0 }) => {
      return { op: 'remove', index: _index, id: _id, over: { seqNo: _seq_no, primaryTerm: _primary_term } };
    }),
  );
  for (const [at, { _index }] of hits.entries()) {
    if (results[at] !== 'done' || _index === names.keys(generation)) continue;
    removed.set(_index, (removed.get(_index) ?? 0) + 1);
  }
}
