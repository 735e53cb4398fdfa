import { readFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { BlockList, isIPv6, type Socket } from 'node:net';
import type { Logger } from 'pino';
import { ControlError } from '../../contract/errors.js';
import type { Ids } from '../../platform/ids.js';
import type { Metrics } from '../../platform/metrics.js';
import { networkOf } from '../../platform/network.js';
import { type Connection, Precedence } from './precedence.js';
import { rawRefusal } from './unparsed.js';

export interface ConnectionLimits {
  readonly most: number;
  /** A trusted proxy speaks for many clients: this limit does not hold for it. */
  readonly mostPerAddress: number;
  /** Addresses or CIDR ranges. */
  readonly trustedProxies: readonly string[];
}

/** A client that has sent nothing for so long after it connected is given up. */
const FIRST_BYTE_MS = 5_000;
const LOOK_MS = 1_000;

const WARN_MS = 60_000;

/**
 * Bounds the connections of a server, in all and by address, so that nobody can use up the process's descriptors. At a
 * bound, one that waits for its client is given up for the new one: idle ones first, the oldest first. The new one is
 * refused only when the service works for all the others.
 */
export class Connections {
  private readonly all = new Precedence();
  private readonly byAddress = new Map<string, Precedence>();
  private readonly known = new WeakMap<Socket, Connection>();
  /** Those whose TLS handshake is under way, by the client's address and port. */
  private readonly shaking = new Map<string, Connection>();
  /** Those without a first request, in the order in which they came. */
  private readonly unasked = new Set<Connection>();
  private readonly proxies: BlockList;
  private nextWarning = 0;

  constructor(
    server: Server,
    private readonly limits: ConnectionLimits,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
    private readonly ids: Ids,
    /** Whether sockets carry TLS, in which a refusal cannot be worded before the handshake. */
    private readonly secure: boolean,
  ) {
    this.proxies = blockList(limits.trustedProxies);
    server.on('connection', (socket: Socket) => this.accept(socket));
    server.on('secureConnection', (socket: Socket) => this.secured(socket));
    server.on('request', (request: IncomingMessage, answer: ServerResponse) => this.asked(request.socket, answer));
    server.on('timeout', (socket: Socket) => this.timedOut(socket));
    const timer = setInterval(() => this.giveUpSilent(), LOOK_MS).unref();
    server.once('close', () => clearInterval(timer));
    metrics.gauge('open_connections', 'Connections of clients', [], (gauge) => gauge.set(this.all.size));
  }

  /** Cuts every connection, also those of which the HTTP server does not know yet. */
  closeAll(): void {
    for (const { socket } of [...this.all]) socket.destroy();
  }

  private accept(socket: Socket): void {
    const { remoteAddress, remotePort } = socket;
    // It was reset before it was looked at.
    if (remoteAddress === undefined) return void socket.destroy();
    const address = this.isProxy(remoteAddress) ? undefined : networkOf(remoteAddress);
    const peers = address === undefined ? undefined : (this.byAddress.get(address) ?? new Precedence());
    if (peers && peers.size >= this.limits.mostPerAddress && !this.giveUpOneOf(peers, 'address')) {
      return this.refuse(socket, 'address');
    }
    if (this.all.size >= this.limits.most && !this.giveUpOneOf(this.all, 'all')) return this.refuse(socket, 'all');
    const connection: Connection = { socket, openedAt: performance.now(), answers: [], peers };
    if (address !== undefined && peers) this.byAddress.set(address, peers);
    this.known.set(socket, connection);
    this.unasked.add(connection);
    this.toAll(connection, (order) => order.rest(connection));
    if (this.secure) this.shaking.set(`${remoteAddress} ${remotePort}`, connection);
    socket.once('close', () => {
      this.shaking.delete(`${remoteAddress} ${remotePort}`);
      this.forget(connection, address);
    });
  }

  /** From here on the HTTP server knows the connection by its TLS socket alone. */
  private secured(socket: Socket): void {
    const { remoteAddress, remotePort } = socket;
    const connection = this.shaking.get(`${remoteAddress} ${remotePort}`);
    if (!connection) return;
    connection.socket = socket;
    this.known.set(socket, connection);
  }

  private asked(socket: Socket, answer: ServerResponse): void {
    const connection = this.known.get(socket);
    if (!connection) return;
    this.unasked.delete(connection);
    const { answers } = connection;
    answers.push(answer);
    this.toAll(connection, (order) => order.work(connection));
    // Comes once. For `once`, every request would pay with a wrapper, and with its removal.
    answer.on('close', () => {
      answers.splice(answers.indexOf(answer), 1);
      if (answers.length === 0 && !socket.destroyed) this.toAll(connection, (order) => order.rest(connection));
    });
  }

  /** Nothing went either way for as long as a connection may rest: a client that reads no more is given up. */
  private timedOut(socket: Socket): void {
    const isWorkedFor = this.known.get(socket)?.answers.some((answer) => !answer.writableEnded);
    // The time limit of a request that does not come whole is the server's own.
    if (isWorkedFor) socket.setTimeout(socket.timeout ?? 0);
    else socket.destroy();
  }

  private giveUpSilent(): void {
    const now = performance.now();
    for (const connection of this.unasked) {
      if (now - connection.openedAt < FIRST_BYTE_MS) return;
      this.unasked.delete(connection);
      if (connection.socket.bytesRead === 0) connection.socket.destroy();
    }
  }

  private giveUpOneOf(order: Precedence, bound: 'all' | 'address'): boolean {
    const connection = order.first();
    if (!connection) return false;
    this.note('given_up', bound);
    connection.socket.destroy();
    // Its `close` event comes later; the descriptor is free already.
    this.toAll(connection, (each) => each.remove(connection));
    return true;
  }

  private refuse(socket: Socket, bound: 'all' | 'address'): void {
    this.note('refused', bound);
    const whose = bound === 'all' ? 'this process has' : 'your address has';
    const refusal = new ControlError('too_many_connections', `${whose} as many connections as it may have`);
    if (!this.secure) socket.write(rawRefusal(refusal, this.ids.next()));
    socket.destroy();
  }

  private note(outcome: 'given_up' | 'refused', bound: 'all' | 'address'): void {
    this.metrics.connectionCut(outcome, bound);
    const now = performance.now();
    if (now < this.nextWarning) return;
    this.nextWarning = now + WARN_MS;
    const { most, mostPerAddress } = this.limits;
    this.logger.warn({ open: this.all.size, most, mostPerAddress, bound }, 'too many connections: some are cut');
  }

  private forget(connection: Connection, address: string | undefined): void {
    this.unasked.delete(connection);
    this.toAll(connection, (order) => order.remove(connection));
    if (address !== undefined && connection.peers?.size === 0 && this.byAddress.get(address) === connection.peers) {
      this.byAddress.delete(address);
    }
  }

  private toAll({ peers }: Connection, change: (order: Precedence) => void): void {
    change(this.all);
    if (peers) change(peers);
  }

  private isProxy(address: string): boolean {
    return this.proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  }
}

function blockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    list.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family);
  }
  return list;
}

/** Descriptors kept back for files, for the clients of Kafka and Elasticsearch, and for what a request opens. */
const RESERVED = 200;

/** How many connections the process can hold, at most `wanted`: a descriptor each, and some for everything else. */
export function affordable(wanted: number, descriptors = descriptorLimit()): number {
  if (descriptors === undefined) return wanted;
  return Math.max(1, Math.min(wanted, descriptors - Math.min(RESERVED, Math.floor(descriptors / 2))));
}

/** The soft limit, which Node raises to the hard one when it starts; undefined where the system does not tell. */
function descriptorLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
