import type { Offsets, Topic } from '../../event-log/event-log.js';
import { partitionName } from '../document.js';
import type { Points } from '../search.js';
import type { Version } from './bulk.js';
import { type Elasticsearch, isConflict } from './client.js';

import type { Names } from './names.js';

/** By `topic/partition`, next offset to apply. */
export type Nexts = Readonly<Record<string, number>>;

export function nextsOf(topic: Topic, offsets: Offsets): Nexts {
  const entries = Object.entries(offsets);
  return Object.fromEntries(
    entries.map(([partition, next]) => [partitionName({ topic, partition: Number(partition) }), next]),
  );
}

interface States {
  readonly progress: Nexts;
  /** Everything before these points has been applied and refreshed. */
  readonly searchable: Points;
  /** For a generation that became live empty: what must be searchable before it is read, which is where the log ended. */
  readonly goal: Nexts;
}
export type StateName = keyof States;

interface Got<Name extends StateName> {
  readonly _index: string;
  readonly _seq_no: number;
  readonly _primary_term: number;
  readonly _source: { readonly value: States[Name] };
}

/** The last written state of the generation that an index or alias leads to. Rejects with status 404 if there is none. */
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
 * Compare-and-swap: replaces the version that was read; undefined if another one is stored by now. Rejects with status 404
 * if the alias does not exist.
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

/** The states of a new generation, so that they always exist. */
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
