import type { IncomingMessage } from 'node:http';
import { type ApiClient, path } from '../../client/api-client.js';
import { ApiError, ClientError } from '../../client/errors.js';
import { type Nodes } from '../../tlog/merkle.js';
import { tilePath } from '../../tlog/tile.js';
import { tileNodes } from '../../tlog/tile-nodes.js';

const LONGEST_ANSWER = 1024 * 1024;

/** Several of the intervals in which a service seals unless it is told otherwise. */
const FIRST_CHECKPOINT_MS = 30_000;
const LOOK_MS = 500;

/** An organization's log, as the service serves it. Nothing of it is verified here. */
export class LogReader {
  private readonly prefix: string;

  constructor(
    private readonly client: ApiClient,
    org: string,
  ) {
    this.prefix = path`/audit/org/${org}/-tlog`;
  }

  /** The verifier keys, oldest first. */
  async vkeys(): Promise<string[]> {
    const lines = (await this.#text('vkey')).split('\n').filter(Boolean);
    return lines.map((line) => line.split(' ')[0] ?? '');
  }

  /** The newest checkpoint. An organization is new for some seconds before it has the first: that one is waited for. */
  async checkpoint(): Promise<string> {
    const end = performance.now() + FIRST_CHECKPOINT_MS;
    for (;;) {
      try {
        return await this.#text('checkpoint');
      } catch (error) {
        const mayCome = error instanceof ApiError && error.body.code === 'not_integrated' && performance.now() < end;
        if (!mayCome) throw error;
        await this.client.pause(LOOK_MS);
      }
    }
  }

  headProof(): Promise<string> {
    return this.#text('head-proof');
  }

  nodes(size: number): Nodes {
    return tileNodes(size, (tile) => this.#bytes(tilePath(tile)));
  }

  async #text(name: string): Promise<string> {
    return (await this.#bytes(name)).toString('utf8');
  }

  #bytes(name: string): Promise<Buffer> {
    return readBytes(this.client, `${this.prefix}/${name}`);
  }
}

/** A short answer that is no JSON. */
export function readBytes(client: ApiClient, at: string): Promise<Buffer> {
  return client.download({ method: 'GET', path: at, on: 'audit', retry: 'never' }, bytesOf);
}

async function bytesOf(answer: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > LONGEST_ANSWER) throw new ClientError('the answer is larger than 1 MiB');
  }
  return Buffer.concat(chunks);
}
