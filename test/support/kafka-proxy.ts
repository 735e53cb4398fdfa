import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export const PRODUCE = 0;
export const FETCH = 1;

/** What becomes of one message: passed on as it is, dropped, or another in its place. */
type Meddle = (apiKey: number, message: Buffer) => 'drop' | Buffer | undefined;

/**
 * Stands between a client and a broker, and knows where messages begin and end. Kafka tells clients its own address, so
 * the client has to be routed here: `route: () => proxy.address`.
 */
export class KafkaProxy {
  /** Called with every request, and with every answer, of the API of this number. */
  onRequest: Meddle | undefined;
  onAnswer: Meddle | undefined;
  /** How long every answer is held back. */
  delayMs = 0;
  /** How many connections were accepted. */
  accepted = 0;
  private refusing = false;
  private readonly sockets = new Set<Socket>();

  static start(upstream: string): Promise<KafkaProxy> {
    return new Promise((resolve) => {
      const server = createServer();
      server.listen(0, '127.0.0.1', () => resolve(new KafkaProxy(server, upstream)));
    });
  }

  private constructor(
    private readonly server: Server,
    /** May be changed: connections that are made later go there. */
    public upstream: string,
  ) {
    server.on('connection', (client) => this.connected(client));
  }

  get address(): { host: string; port: number } {
    return { host: '127.0.0.1', port: (this.server.address() as AddressInfo).port };
  }

  get open(): number {
    return this.sockets.size;
  }

  /** Ends all connections; new ones end at once until `accept`. */
  refuse(): void {
    this.refusing = true;
    this.cut();
  }

  accept(): void {
    this.refusing = false;
  }

  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => {
      this.server.close(resolve);
    });
  }

  private connected(client: Socket): void {
    if (this.refusing) return void client.destroy();
    this.accepted += 1;
    const [host = '', port = ''] = this.upstream.split(':');
    const broker = connect(Number(port), host);
    const apis = new Map<number, number>();
    const toBroker = framed((message) => {
      const apiKey = message.readInt16BE(4);
      const passed = this.onRequest?.(apiKey, message) ?? message;
      if (passed === 'drop') return;
      apis.set(message.readInt32BE(8), apiKey);
      broker.write(passed);
    });
    const toClient = framed((message) => {
      const apiKey = apis.get(message.readInt32BE(4)) ?? -1;
      apis.delete(message.readInt32BE(4));
      const passed = this.onAnswer?.(apiKey, message) ?? message;
      if (passed === 'drop') return;
      if (this.delayMs === 0) client.write(passed);
      else setTimeout(() => client.write(passed), this.delayMs);
    });
    this.join(client, broker, toBroker);
    this.join(broker, client, toClient);
  }

  private join(from: Socket, to: Socket, pass: (chunk: Buffer) => void): void {
    this.sockets.add(from);
    from.on('data', pass);
    from.on('error', () => undefined);
    from.on('close', () => {
      this.sockets.delete(from);
      to.destroy();
    });
  }
}

/** Turns a stream of bytes into whole messages, each with the length before it. */
function framed(pass: (message: Buffer) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 4 && rest.length >= 4 + rest.readInt32BE(0)) {
      const length = 4 + rest.readInt32BE(0);
      const message = rest.subarray(0, length);
      rest = rest.subarray(length);
      pass(message);
    }
  };
}
