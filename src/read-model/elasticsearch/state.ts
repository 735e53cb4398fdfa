import type { Offsets, Topic } from '../../event-log/event-log.js';
import type { Version } from './bulk.js';
import { type Elasticsearch, isConflict } from './client.js';
import { partitionName } from './document.js';
import type { Names } from './names.js';

/** By `topic/partition`, next offset to apply. */
export type Nexts = Readonly<Record<string, number>>;

export function nextsOf(topic: Topic, offsets: Offsets): Nexts {
  const entries = Object.entries(offsets);
  return Object.fromEntries(
    entries.map(([partition, next]) => [partitionName({ topic, partition: Number(partition) }), next]),
  );
}

/** In the order of one partition: a place comes before a bound where it is less, in this order of members. */
export type Bound = readonly [offset: number, ordinal: number];

/** By `topic/partition`: every document before it has been applied and refreshed. */
export type Bounds = Readonly<Record<string, Bound>>;

export function isBefore(one: Bound, other: Bound): boolean {
  return one[0] < other[0] || (one[0] === other[0] && one[1] < other[1]);
}

/** The later bound of each partition. */
export function laterBounds(one: Bounds, other: Bounds): Bounds {
  const later: Record<string, Bound> = { ...one };
  for (const [partition, bound] of Object.entries(other)) {
    const known = later[partition];
    if (!known || isBefore(known, bound)) later[partition] = bound;
  }
  return later;
}

interface States {
  readonly progress: Nexts;
  readonly searchable: Bounds;
  /** What must be searchable before the generation is read: what the log had when it was made to be live at once. */
  readonly goal: Nexts;
}
export type StateName = keyof States;

interface Got<Name extends StateName> {
  readonly _index: string;
  readonly _seq_no: number;
  readonly _primary_term: number;
  readonly _source: { readonly value: States[Name] };
}

/** As last written, of the generation that an index or alias leads to. Rejects with status 404 where it is not there. */
export async function readState<Name extends StateName>(
  es: Elasticsearch,
  index: string,
  name: Name,
): Promise<{ index: string; value: States[Name]; version: Version }> {
  const got = await es.request<Got<Name>>('GET', `/${index}/_doc/${name}`);
  const version = { seqNo: got._seq_no, primaryTerm: got._primary_term };
  return { index: got._index, value: got._source.value, version };
}

/**
 * Writes a state over the version that was read; undefined where another is there by now. Rejects with status 404 where
 * the alias is not there.
 */
export async function writeState<Name extends StateName>(
  es: Elasticsearch,
  alias: string,
  name: Name,
  value: States[Name],
  over: Version,
): Promise<Version | undefined> {
  const query = { require_alias: true, if_seq_no: over.seqNo, if_primary_term: over.primaryTerm };
  try {
    const path = `/${alias}/_doc/${name}`;
    const done = await es.request<Pick<Got<Name>, '_seq_no' | '_primary_term'>>('PUT', path, {
      body: { value },
      query,
    });
    return { seqNo: done._seq_no, primaryTerm: done._primary_term };
  } catch (error) {
    if (isConflict(error)) return undefined;
    throw error;
  }
}

/** The states of a new generation, so that they are always there. */
export async function writeFirstStates(
  es: Elasticsearch,
  names: Names,
  generation: number,
  goal: Nexts,
): Promise<void> {
  const states: States = { progress: {}, searchable: {}, goal };
  for (const [name, value] of Object.entries(states)) {
    const query = { require_alias: true, op_type: 'create' };
    await es.request('PUT', `/${names.keeper(generation)}/_doc/${name}`, { body: { value }, query });
  }
}
