import { randomBytes } from 'node:crypto';
import { Elasticsearch, type Request } from '../../src/platform/elasticsearch.js';
import { ElasticsearchTreeStore } from '../../src/tree-store/elasticsearch/tree-store.js';
import { removeIndices } from './elasticsearch.harness.js';
import type { TreeStoreHarness } from './tree-store.contract.js';

/** Where the connection of a process breaks: at its n-th request from now on, before it is sent or after. */
export interface Break {
  readonly at: number;
  readonly when: 'before' | 'after';
  /** It does not break: it waits for this before it is sent. */
  readonly until?: () => Promise<void>;
}

/** A connection that can break; then it stays so until it is mended. */
export class BreakingElasticsearch extends Elasticsearch {
  breaking: Break | undefined;
  requests = 0;

  override async request<Answer>(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    request?: Request,
  ): Promise<Answer> {
    const number = this.requests;
    this.requests += 1;
    const { at = Number.POSITIVE_INFINITY, when, until } = this.breaking ?? {};
    if (until) {
      if (number === at) await until();
      return super.request<Answer>(method, path, request);
    }
    if (number > at || (number === at && when === 'before')) throw new Error('the connection broke');
    const answer = await super.request<Answer>(method, path, request);
    if (number === at) throw new Error('the connection broke');
    return answer;
  }

  break(breaking: Break | undefined): void {
    this.breaking = breaking;
    this.requests = 0;
  }
}

/** The stores of several processes over one log, under names that no other test has. */
export class TreeStores implements TreeStoreHarness {
  readonly prefix = `test-${randomBytes(6).toString('hex')}-`;
  hasCuts = false;
  private readonly clients: Elasticsearch[] = [];
  store: ElasticsearchTreeStore;

  constructor(
    private readonly url: string,
    readonly log = 'a-log',
  ) {
    this.store = this.open().store;
  }

  /** Of a process that only reads. */
  reader(): { store: ElasticsearchTreeStore; es: BreakingElasticsearch } {
    return this.open(this.log, { hasCuts: async () => this.hasCuts });
  }

  open(
    log = this.log,
    reading: { hasCuts?: () => Promise<boolean> } = {},
  ): { store: ElasticsearchTreeStore; es: BreakingElasticsearch } {
    const es = new BreakingElasticsearch({ nodes: [this.url] });
    this.clients.push(es);
    const options = { es, indexPrefix: this.prefix, replicas: 0, log: async () => log, ...reading };
    return { store: new ElasticsearchTreeStore(options), es };
  }

  async reopen(): Promise<ElasticsearchTreeStore> {
    await this.store.close();
    this.store = this.open().store;
    return this.store;
  }

  /** As if Elasticsearch had lost everything. */
  wipe(): Promise<void> {
    return removeIndices(this.url, this.prefix);
  }

  async destroy(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.close()));
    await this.wipe();
  }
}
