import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Stands before Elasticsearch, notes its requests, and may delay each. */
export class ElasticsearchProxy {
  delayMs = 0;
  /** Method and path of each, without the query. */
  readonly requests: string[] = [];
  private readonly server: Server;

  static async start(target: string): Promise<ElasticsearchProxy> {
    const proxy = new ElasticsearchProxy(target);
    await new Promise<void>((resolve) => proxy.server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  private constructor(private readonly target: string) {
    this.server = createServer((from, to) => void this.pass(from, to));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  private async pass(from: IncomingMessage, to: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = from;
    this.requests.push(`${method} ${url.replace(/\?.*/, '')}`);
    await delay(this.delayMs);
    const sent = request(new URL(url, this.target), { method, headers }, (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(to);
    });
    sent.on('error', () => to.destroy());
    from.pipe(sent);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
