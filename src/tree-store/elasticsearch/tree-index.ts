import { createHash, randomBytes } from 'node:crypto';
import { ControlError } from '../../contract/errors.js';
import { type Elasticsearch, isFault, isMissing } from '../../platform/elasticsearch.js';
import { TreesLost } from '../tree-store.js';

export interface Found<Document extends object = object> {
  readonly document: Document;
  readonly version: Version;
}

interface Version {
  readonly if_seq_no: number;
  readonly if_primary_term: number;
}

/** A write that has an effect only if what is stored is still of this version; undefined: if nothing is. */
export interface Write {
  readonly id: string;
  readonly document: object;
  readonly over: Version | undefined;
}

export interface TreeIndexOptions {
  readonly es: Elasticsearch;
  readonly indexPrefix: string;
  readonly replicas: number;
  /** Identifier of the log, once it is known. */
  readonly log: () => Promise<string>;
}

/** Elasticsearch takes 100 MB in a request, but works best with a few. */
const MOST_BYTES = 8 * 1024 * 1024;
const MOST_READ = 256;

/**
 * The index of the trees over one log. Its name is made from the log's identifier, so another log has another index.
 *
 * It is read and written through an alias with a random name, made with the index. So an index that was lost, and one that
 * was made in its place, are noticed by every request: what belonged to the first can neither be read from the second nor
 * written to it.
 */
export class TreeIndex {
  private alias: string | undefined;
  /** Whether something is written here: then another index is used only after `prepare`. */
  private isWriter = false;

  constructor(private readonly options: TreeIndexOptions) {}

  /** Uses the index that is there from now on, and makes it if there is none. */
  async prepare(): Promise<void> {
    this.isWriter = true;
    const { name, log } = await this.names();
    this.alias = (await this.aliasThere(name)) ?? (await this.make(name, log));
  }

  /** Each document as last written, by its identifier. */
  async read(ids: readonly string[]): Promise<ReadonlyMap<string, Found>> {
    const found = new Map<string, Found>();
    for (let start = 0; start < ids.length; start += MOST_READ) {
      const part = ids.slice(start, start + MOST_READ);
      const { docs } = await this.request<{ docs: readonly Got[] }>('/_mget', { body: { ids: part } });
      for (const { _id, _source, _seq_no = -1, _primary_term = 0, error } of docs) {
        if (error) throw this.fault(error.type);
        if (_source)
          found.set(_id, { document: _source, version: { if_seq_no: _seq_no, if_primary_term: _primary_term } });
      }
    }
    return found;
  }

  /** Returns whether all writes had an effect. Those that had one stay, whatever becomes of the others. */
  async write(writes: readonly Write[]): Promise<boolean> {
    let lines: string[] = [];
    let bytes = 0;
    let isWhole = true;
    for (const [at, { id, document, over }] of writes.entries()) {
      const text = `${JSON.stringify(over ? { index: { _id: id, ...over } } : { create: { _id: id } })}\n${JSON.stringify(document)}\n`;
      lines.push(text);
      bytes += text.length;
      if (bytes < MOST_BYTES && at < writes.length - 1) continue;
      isWhole = (await this.send(lines.join(''))) && isWhole;
      [lines, bytes] = [[], 0];
    }
    return isWhole;
  }

  private async send(lines: string): Promise<boolean> {
    const query = { require_alias: true, filter_path: 'errors,items.*.error.type' };
    const answer = await this.request<BulkAnswer>('/_bulk', { lines, query });
    const faults = (answer.items ?? []).flatMap((item) => Object.values(item)[0]?.error?.type ?? []);
    const other = faults.find((type) => type !== 'version_conflict_engine_exception');
    if (other !== undefined) throw this.fault(other);
    return !answer.errors;
  }

  private async request<Answer>(
    path: string,
    request: { body?: object; lines?: string; query?: Query },
  ): Promise<Answer> {
    if (this.alias === undefined) await this.adopt();
    try {
      return await this.options.es.request<Answer>('POST', `/${this.alias}${path}`, request);
    } catch (error) {
      throw isMissing(error) ? this.fault('index_not_found_exception') : unavailable(error);
    }
  }

  /** Uses the index that is there. A writer that lost one must not take another for it. */
  private async adopt(): Promise<void> {
    if (this.isWriter) throw this.fault('index_not_found_exception');
    this.alias = await this.aliasThere((await this.names()).name);
    if (this.alias === undefined) throw this.fault('index_not_found_exception');
  }

  /** Gives the index another name, so that the next writer makes a new one. Resolves with that name; undefined if there is none. */
  async setAside(): Promise<string | undefined> {
    const { es } = this.options;
    const { name } = await this.names();
    const aside = `${name}.replaced.${randomBytes(4).toString('hex')}`;
    try {
      // Elasticsearch renames nothing; a clone of what cannot change shares its files.
      await es.request('PUT', `/${name}/_block/write`);
      await es.request('POST', `/${name}/_clone/${aside}`);
      await es.request('DELETE', `/${name}`);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw unavailable(error);
    }
    this.alias = undefined;
    return aside;
  }

  private fault(type: string): Error {
    if (type !== 'index_not_found_exception')
      return new ControlError('read_model_unavailable', `${AWAY}: Elasticsearch failed with ${type}`);
    this.alias = undefined;
    return new TreesLost('the index of the trees is not in Elasticsearch: it is made from the log again');
  }

  private async names(): Promise<{ name: string; log: string }> {
    const log = await this.options.log();
    const digest = createHash('sha256').update(log).digest('hex').slice(0, 12);
    return { name: `${this.options.indexPrefix}tlog.${digest}`, log };
  }

  private async aliasThere(name: string): Promise<string | undefined> {
    try {
      const answer = await this.options.es.request<Readonly<Record<string, { aliases: object }>>>(
        'GET',
        `/${name}/_alias`,
      );
      const [alias] = Object.keys(answer[name]?.aliases ?? {}).sort();
      return alias ?? (await this.addAlias(name));
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw unavailable(error);
    }
  }

  /** An operator removed it: what it led to is intact. */
  private async addAlias(name: string): Promise<string> {
    const alias = newAlias(name);
    await this.options.es.request('PUT', `/${name}/_alias/${alias}`);
    return alias;
  }

  /** One shard: a snapshot of it has no progress without the cells before it. */
  private async make(name: string, log: string): Promise<string | undefined> {
    const { es, replicas } = this.options;
    const alias = newAlias(name);
    const settings = { number_of_shards: 1, number_of_replicas: replicas, refresh_interval: '-1' };
    // Base64 of random bytes: compressed, a quarter of it is gone.
    const body = {
      settings: { ...settings, codec: 'best_compression' },
      mappings: { enabled: false, _meta: { log } },
      aliases: { [alias]: {} },
    };
    try {
      await es.request('PUT', `/${name}`, { body });
      return alias;
    } catch (error) {
      if (isFault(error) && error.type === 'resource_already_exists_exception') return this.aliasThere(name);
      throw unavailable(error);
    }
  }
}

interface Got {
  readonly _id: string;
  readonly _seq_no?: number;
  readonly _primary_term?: number;
  readonly _source?: object;
  readonly error?: { readonly type: string };
}

interface BulkAnswer {
  readonly errors: boolean;
  readonly items?: readonly Readonly<Record<string, { readonly error?: { readonly type: string } }>>[];
}

type Query = Readonly<Record<string, string | boolean>>;

function newAlias(name: string): string {
  return `${name}.${randomBytes(8).toString('hex')}`;
}

const AWAY = 'the trees over the log cannot be reached at the moment';

function unavailable(error: unknown): unknown {
  return isFault(error)
    ? new ControlError('read_model_unavailable', `${AWAY}: ${error.message}`, {}, { cause: error })
    : error;
}
