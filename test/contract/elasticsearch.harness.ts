import { randomBytes } from 'node:crypto';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { pino } from 'pino';
import {
  ElasticsearchReadModel,
  type ElasticsearchReadModelOptions,
} from '../../src/read-model/elasticsearch/read-model.js';
import { type ReadModelHarness, SetRetention } from './read-model.harness.js';

const LOG_ID = 'a-log';

/** Names that no other test has. */
function newPrefix(): string {
  return `test-${randomBytes(6).toString('hex')}-`;
}

type TestOptions = Pick<ElasticsearchReadModelOptions, 'nodes' | 'indexPrefix'> &
  Partial<ElasticsearchReadModelOptions>;

function openModel(options: TestOptions): Promise<ElasticsearchReadModel> {
  return ElasticsearchReadModel.open({ logId: LOG_ID, replicas: 0, logger: pino({ level: 'silent' }), ...options });
}

/** A read model under names of its own, behind a gate that can be shut. */
export async function openElasticsearchReadModel(url: string): Promise<ReadModelHarness> {
  const gate = await Gate.open(url);
  const options = { nodes: [gate.url], indexPrefix: newPrefix(), retention: new SetRetention() };
  let model = await openModel(options);
  return {
    get model() {
      return model;
    },
    retention: options.retention,
    async reopen() {
      await model.close();
      model = await openModel(options);
      return model;
    },
    failWrites: () => gate.shut(),
    repair: () => gate.unshut(),
    async destroy() {
      await model.close();
      await gate.close();
      await removeIndices(url, options.indexPrefix);
    },
  };
}

/** Several handles on one read model, as several processes have them. */
export class Handles {
  readonly prefix = newPrefix();
  readonly retention = new SetRetention();
  private readonly opened: ElasticsearchReadModel[] = [];

  constructor(readonly url: string) {}

  async open(options: Partial<TestOptions> = {}): Promise<ElasticsearchReadModel> {
    const { prefix: indexPrefix, retention, url } = this;
    const model = await openModel({ nodes: [url], indexPrefix, retention, ...options });
    this.opened.push(model);
    return model;
  }

  indices(): Promise<string[]> {
    return indicesOf(this.url, this.prefix);
  }

  /** As if Elasticsearch had lost everything. */
  wipe(): Promise<void> {
    return removeIndices(this.url, this.prefix);
  }

  async destroy(): Promise<void> {
    for (const model of this.opened) await model.close();
    await this.wipe();
  }
}

/** Cases on handles of their own. */
export function withHandles(url: string) {
  return (name: string, body: (handles: Handles) => Promise<void>, timeoutMs = 60_000): void => {
    test(
      name,
      async () => {
        const handles = new Handles(url);
        try {
          await body(handles);
        } finally {
          await handles.destroy();
        }
      },
      timeoutMs,
    );
  };
}

/** Passes on bytes to Elasticsearch, until it is shut: then every connection breaks. */
export class Gate {
  private isShut = false;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    readonly url: string,
    /** Where it leads; may change. */
    public target: string,
  ) {}

  static async open(target: string): Promise<Gate> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const gate = new Gate(server, `http://127.0.0.1:${port}`, target);
    server.on('connection', (from) => {
      const { hostname, port } = new URL(gate.target);
      gate.join(from, connect(Number(port), hostname));
    });
    return gate;
  }

  private join(from: Socket, to: Socket): void {
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      one.setNoDelay(true);
      this.sockets.add(one);
      one.on('error', () => undefined);
      one.on('close', () => {
        this.sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
    if (this.isShut) from.destroy();
  }

  shut(): void {
    this.isShut = true;
    for (const socket of this.sockets) socket.destroy();
  }

  unshut(): void {
    this.isShut = false;
  }

  async close(): Promise<void> {
    this.shut();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** Asks Elasticsearch itself, past the read model. */
export async function ask<Answer>(url: string, method: string, path: string, body?: object): Promise<Answer> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(new URL(path, url), { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${response.status} to ${method} ${path}: ${JSON.stringify(answer)}`);
  return answer as Answer;
}

async function indicesOf(url: string, prefix: string): Promise<string[]> {
  return Object.keys(await ask<object>(url, 'GET', `/${prefix}*/_alias?expand_wildcards=all`)).sort();
}

export async function removeIndices(url: string, prefix: string): Promise<void> {
  const indices = await indicesOf(url, prefix);
  const actions = indices.map((index) => ({ remove_index: { index } }));
  if (actions.length > 0) await ask(url, 'POST', '/_aliases', { actions });
}
