import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * What happens to the bytes between a process and a store. `cut`: connections end, new ones too. `silent`: connections are
 * accepted, and nothing passes. `slow`: every chunk is late, in order. `lossy`: some connections end when an answer comes,
 * so that the store did what it was asked, and the process does not know.
 */
export type LinkState = 'open' | 'cut' | 'silent' | 'slow' | 'lossy';

const SLOW_MS = 300;
/** An address in front of a store that a test can make worse at any time. */
export class Link {
  /** Where new connections go, as `host:port`. */
  upstream = '';
  private state: LinkState = 'open';
  /** Of the answers that come while it is lossy, every so many ends its connection. */
  lostEvery = 5;
  /** So many answers were lost. */
  lost = 0;
  private answers = 0;
  private readonly sockets = new Set<Socket>();

  static start(upstream = ''): Promise<Link> {
    return new Promise((resolve) => {
      const server = createServer();
      server.listen(0, '127.0.0.1', () => resolve(new Link(server, upstream)));
    });
  }

  private constructor(
    private readonly server: Server,
    upstream: string,
  ) {
    this.upstream = upstream;
    server.on('connection', (client) => this.connected(client));
  }

  get address(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** What a silent link has swallowed does not come later: its connections end when it is opened. */
  set(state: LinkState): void {
    if (state === 'cut' || this.state === 'silent') this.end();
    this.state = state;
  }

  async close(): Promise<void> {
    this.state = 'cut';
    this.end();
    await new Promise((resolve) => {
      this.server.close(resolve);
    });
  }

  private end(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  private connected(client: Socket): void {
    if (this.state === 'cut') return void client.destroy();
    const [host = '', port = ''] = this.upstream.split(':');
    const store = connect(Number(port), host);
    this.join(client, store, () => true);
    this.join(store, client, () => {
      if (this.state !== 'lossy' || ++this.answers % this.lostEvery !== 0) return true;
      this.lost += 1;
      return false;
    });
  }

  private join(from: Socket, to: Socket, passes: () => boolean): void {
    this.sockets.add(from);
    from.on('data', (chunk) => {
      if (this.state === 'silent') return;
      if (!passes()) from.destroy();
      else if (this.state === 'slow') setTimeout(() => to.write(chunk), SLOW_MS);
      else to.write(chunk);
    });
    from.on('error', () => undefined);
    from.on('close', () => {
      this.sockets.delete(from);
      to.destroy();
    });
  }
}
