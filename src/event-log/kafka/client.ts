import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type ISocketFactoryArgs, Kafka, logLevel, type SASLOptions } from 'kafkajs';
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js';
import { StoreUnusable } from '../../platform/store-unusable.js';
import type { Address, Settings } from './options.js';

/** How long a broker may take to accept a connection. */
const CONNECT_MS = 2_000;
const KEEP_ALIVE_MS = 30_000;

/** kafkajs without retries of its own, whose connections can all be closed at once. */
export class KafkaClient {
  readonly kafka: Kafka;
  private readonly sockets = new Set<Socket>();
  private closed = false;

  /** Throws `StoreUnusable` if a broker is not named as `host:port`. */
  constructor(private readonly settings: Settings) {
    const { brokers, clientId, tls, sasl, requestMs, logger } = settings;
    const seeds = brokers.map(addressOf).sort(() => Math.random() - 0.5);
    this.kafka = new Kafka({
      clientId,
      // kafkajs splits these at the colon.
      brokers: seeds.map(({ host, port }) => `${host.replaceAll(':', COLON)}:${port}`),
      ...(tls && { ssl: tls }),
      ...(sasl && { sasl: { ...sasl } as SASLOptions }),
      connectionTimeout: CONNECT_MS,
      requestTimeout: requestMs,
      retry: { retries: 0 },
      logLevel: logLevel.WARN,
      // The caller logs the fault with more context.
      logCreator: () => (entry) => logger.debug({ kafkajs: entry.namespace }, entry.log.message),
      socketFactory: (target) => this.socketTo(target),
    });
  }

  /** Calls `connect` until one of the brokers accepts. */
  async connect(connect: () => Promise<void>): Promise<void> {
    for (let left = this.settings.brokers.length; ; left -= 1) {
      try {
        // After a failure kafkajs tries the next broker.
        return await connect();
      } catch (error) {
        if (left <= 1 || this.closed) throw error;
      }
    }
  }

  private socketTo({ host: encoded, port, onConnect }: ISocketFactoryArgs): Socket {
    const { tls, route } = this.settings;
    const broker = { host: encoded.replaceAll(COLON, ':'), port };
    const address = route?.(broker) ?? broker;
    const name = isIP(broker.host) ? {} : { servername: broker.host };
    const socket = tls ? connectTls({ ...address, ...name, ...tls }, onConnect) : connectTcp(address, onConnect);
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    if (this.closed) this.close();
    return socket;
  }

  /** At once: pending requests are rejected. */
  close(): void {
    this.closed = true;
    // kafkajs rejects pending requests and stops its timers only after an error.
    for (const socket of this.sockets) socket.destroy(new Error('the connections are closed'));
  }
}

const COLON = '%3A';

/** Takes an IPv6 host in brackets. Throws `StoreUnusable`. */
export function addressOf(broker: string): Address {
  const [, host = '', port = ''] = /^\[?([^\s/]+?)\]?:(\d{1,5})$/.exec(broker) ?? [];
  if (host === '' || Number(port) > 65_535)
    throw new StoreUnusable(`a broker is named as host:port, not as "${broker}"`);
  return { host, port: Number(port) };
}

/**
 * kafkajs checks for requests that wait to be sent with a timer that it sets again for ever, at once or in the past, though
 * there are none: a tenth of a core, and warnings. It is needed only when a request does wait.
 */
const schedule = RequestQueue.prototype.scheduleCheckPendingRequests;
RequestQueue.prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
  if (this.pending.length > 0) schedule.call(this);
};
