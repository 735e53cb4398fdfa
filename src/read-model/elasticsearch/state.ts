import type { Offsets, Topic } from '../../event-log/event-log.js';
import { type Elasticsearch, ElasticsearchFault, isConflict } from '../../platform/elasticsearch.js';
import { partitionName } from '../document.js';
import type { JobsByName } from '../job-board.js';
import type { Points } from '../search.js';
import type { Version } from './bulk.js';
import type { Names } from './names.js';

/** By `topic/partition`, next offset to apply. */
export type Nexts = Readonly<Record<string, number>>;

export function nextsOf(topic: Topic, offsets: Offsets): Nexts {
  const entries = Object.entries(offsets);
  return Object.fromEntries(
    entries.map(([partition, next]) => [partitionName({ topic, partition: Number(partition) }), next]),
  );
}

/** What a generation consists of besides its fixed indices, and whether it may be read. */
export interface Manifest {
  /** Each of these months has an index, with its mark: if not, it was lost. */
  readonly months: readonly string[];
  /** What must be searchable before it is read: the log ended there when the generation was created. */
  readonly goal: Nexts;
  /** Whether all of that is searchable. */
  readonly isOpen: boolean;
  /** Why it was created, if it replaces one that was lost or cannot be used. */
  readonly reason?: string;
}

interface GenerationStates {
  readonly progress: Nexts;
  /** Everything before these points has been applied and refreshed. */
  readonly searchable: Points;
  readonly manifest: Manifest;
}

interface States extends GenerationStates {
  /** Of no generation: in an index of its own. */
  readonly jobs: JobsByName;
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

const MOST_ATTEMPTS = 50;

/** Replaces the state by what `change` makes of it, and returns that. No effect if `change` returns the same. */
export async function changeState<Name extends StateName>(
  es: Elasticsearch,
  names: Names,
  generation: number,
  name: Name,
  change: (value: States[Name]) => States[Name],
): Promise<States[Name]> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const { value, version } = await readState(es, names.progress(generation), name);
    const wanted = change(value);
    if (wanted === value) return value;
    if (await writeState(es, names.keeper(generation), name, wanted, version)) return wanted;
  }
  throw new ElasticsearchFault(`other processes kept changing the ${name} of the read model`, 409, 'state_contended');
}

/** Returns false if it exists. Rejects with status 404 if the alias does not exist. */
export async function createState<Name extends StateName>(
  es: Elasticsearch,
  alias: string,
  name: Name,
  value: States[Name],
): Promise<boolean> {
  try {
    await es.request('PUT', `/${alias}/_doc/${name}`, {
      body: { value },
      query: { require_alias: true, op_type: 'create' },
    });
    return true;
  } catch (error) {
    if (isConflict(error)) return false;
    throw error;
  }
}

/** The states of a new generation, so that they always exist. */
export async function writeFirstStates(
  es: Elasticsearch,
  names: Names,
  generation: number,
  goal: Nexts,
  reason?: string,
): Promise<void> {
  const isOpen = Object.keys(goal).length === 0;
  const manifest = { months: [], goal, isOpen, ...(reason !== undefined && { reason }) };
  const states: GenerationStates = { progress: {}, searchable: {}, manifest };
  for (const [name, value] of Object.entries(states)) {
    const query = { require_alias: true, op_type: 'create' };
    await es.request('PUT', `/${names.keeper(generation)}/_doc/${name}`, { body: { value }, query });
  }
}
