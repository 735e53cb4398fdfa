import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { LogEntry, SASLOptions } from 'kafkajs';
import Broker from 'kafkajs/src/broker/index.js';
import loggers from 'kafkajs/src/loggers/index.js';
import ConnectionPool, { type ProtocolExchange, type ProtocolRequest } from 'kafkajs/src/network/connectionPool.js';
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js';
import apiKeys from 'kafkajs/src/protocol/requests/apiKeys.js';
import protocol from 'kafkajs/src/protocol/requests/index.js';
import type { Logger } from 'pino';
import { StoreUnusable } from '../../platform/store-unusable.js';
import { KafkaFault } from './faults.js';
import { decodeMetadata, lacksMetadata, type Metadata, metadataRequest } from './metadata.js';

/*
 * kafkajs serves as what speaks to brokers: connections, TLS, SASL, versions, the encoding of requests. Its producer and
 * consumer are not used: they hide what this log has to know. The producer does not tell whether a request went out, nor
 * which partitions took it; the consumer sets a position outside the log back to its start, reads through groups only,
 * rejoins a group while work is under way, and trusts bytes without checking them. Its version is pinned, because these
 * modules are not its public interface.
 */

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface KafkaTls {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly rejectUnauthorized?: boolean;
}

export interface KafkaSasl {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
  readonly username: string;
  readonly password: string;
}

export interface KafkaConnection {
  /** Where to begin: some of the brokers, each `host:port`. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** Undefined: without TLS. */
  readonly tls?: KafkaTls | undefined;
  readonly sasl?: KafkaSasl | undefined;
  /** For tests and tunnels: where to connect instead of a broker's own address. */
  readonly route?: ((broker: Address) => Address) | undefined;
  readonly connectTimeoutMs: number;
  /** How long a broker may take to answer. */
  readonly requestTimeoutMs: number;
  readonly logger: Logger;
}

type Api =
  | 'Fetch'
  | 'ListOffsets'
  | 'CreateTopics'
  | 'DescribeConfigs'
  | 'GroupCoordinator'
  | 'JoinGroup'
  | 'SyncGroup'
  | 'Heartbeat'
  | 'LeaveGroup';

/**
 * Connections to the brokers of a cluster. It is not repaired: whoever meets a fault, or finds that what it knows of the
 * cluster is out of date, closes it and opens another.
 */
export class KafkaLink {
  private readonly sockets = new Set<Socket>();
  private readonly brokers = new Map<string, Broker>();
  private readonly logger;
  private known: Metadata = { brokers: new Map(), controller: -1, topics: new Map() };
  private ended = false;

  /** Connects to the first broker that answers and asks it for the cluster and these topics, until the signal aborts. */
  static async open(options: KafkaConnection, topics: readonly string[], signal: AbortSignal): Promise<KafkaLink> {
    const link = new KafkaLink(options);
    const close = () => link.close();
    signal.addEventListener('abort', close);
    let failure: unknown = new KafkaFault('Kafka did not answer in time', false);
    try {
      for (const seed of signal.aborted ? [] : shuffled(options.brokers)) {
        try {
          await link.refresh(addressOf(seed), topics);
          return link;
        } catch (error) {
          failure = error;
        }
      }
    } finally {
      signal.removeEventListener('abort', close);
    }
    link.close();
    throw failure;
  }

  private constructor(private readonly options: KafkaConnection) {
    this.logger = loggers.createLogger({ level: WARN, logCreator: () => (entry) => note(options.logger, entry) });
  }

  /** As of the opening, or the last `refresh`. */
  get metadata(): Metadata {
    return this.known;
  }

  /** Asks the broker at an address, or one that is connected, for the cluster and these topics. */
  async refresh(address: Address | undefined, topics: readonly string[]): Promise<Metadata> {
    const broker = address ? this.brokerAt(address) : [...this.brokers.values()].find((one) => one.isConnected());
    if (!broker) throw new KafkaFault('no broker is connected', false);
    const request = metadataRequest(topics);
    this.known = await this.exchange(broker, () => {
      if (lacksMetadata(broker.versions)) throw new StoreUnusable('the brokers are older than Kafka 2.8');
      return { request, decode: decodeMetadata };
    });
    return this.known;
  }

  /** The broker's answer with the error codes that are in it: it throws only `KafkaFault`, when there is no answer. */
  request<Answer>(node: number, api: Api, args: object, decode?: (raw: Buffer) => Answer): Promise<Answer> {
    const address = this.known.brokers.get(node);
    if (!address) return Promise.reject(new KafkaFault(`the cluster has no broker ${node}`, false));
    const broker = this.brokerAt(address);
    return this.exchange(broker, () => {
      const { request, response, requestTimeout } = broker.lookupRequest(apiKeys[api] ?? -1, definitionOf(api))(args);
      const own = decode ?? ((raw: Buffer) => response.decode(raw) as Promise<Answer>);
      return { request, decode: own, ...(requestTimeout !== undefined && { requestTimeout }) };
    });
  }

  /** The same, of a request that is put together already. */
  send<Answer>(node: number, request: ProtocolRequest, decode: (raw: Buffer) => Answer): Promise<Answer> {
    const address = this.known.brokers.get(node);
    if (!address) return Promise.reject(new KafkaFault(`the cluster has no broker ${node}`, false));
    return this.exchange(this.brokerAt(address), () => ({ request, decode }));
  }

  private async exchange<Answer>(
    broker: Broker,
    prepare: () => Pick<ProtocolExchange<Answer, Answer>, 'request' | 'requestTimeout'> & {
      decode(raw: Buffer): Answer | Promise<Answer>;
    },
  ): Promise<Answer> {
    let sent = false;
    try {
      if (this.ended) throw new Error('the connections are closed');
      if (!broker.isConnected()) await broker.connect();
      const { request, decode, requestTimeout } = prepare();
      const encode = async () => {
        const encoded = await request.encode();
        sent = true;
        return encoded;
      };
      return await broker.connectionPool.send({
        request: { ...request, encode },
        response: { decode: async (raw) => decode(raw), parse: async (answer) => answer },
        ...(requestTimeout !== undefined && { requestTimeout }),
      });
    } catch (error) {
      if (error instanceof StoreUnusable) throw error;
      throw new KafkaFault((error as Error).message, sent, { cause: error });
    }
  }

  private brokerAt(address: Address): Broker {
    const name = `${address.host}:${address.port}`;
    const known = this.brokers.get(name);
    if (known) return known;
    const { clientId, tls, sasl, connectTimeoutMs, requestTimeoutMs } = this.options;
    const connectionPool = new ConnectionPool({
      ...address,
      clientId,
      logger: this.logger,
      ...(tls && { ssl: tls }),
      ...(sasl && { sasl: { ...sasl } as SASLOptions }),
      connectionTimeout: connectTimeoutMs,
      requestTimeout: requestTimeoutMs,
      socketFactory: ({ onConnect }) => this.socketTo(address, onConnect),
    });
    const broker = new Broker({ connectionPool, logger: this.logger });
    this.brokers.set(name, broker);
    return broker;
  }

  private socketTo(address: Address, onConnect: () => void): Socket {
    const { tls, route } = this.options;
    const { host, port } = route?.(address) ?? address;
    const name = isIP(address.host) ? {} : { servername: address.host };
    const socket = tls
      ? connectTls({ host, port, ...name, ...tls }, onConnect)
      : connectTcp({ host, port, noDelay: true }, onConnect);
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    if (this.ended) socket.destroy(new Error('the connections are closed'));
    return socket;
  }

  /** At once: what waits for an answer is rejected. */
  close(): void {
    this.ended = true;
    // Only an error makes kafkajs reject what is under way and stop its timers.
    for (const socket of this.sockets) socket.destroy(new Error('the connections are closed'));
  }
}

/** `host:port`, an IPv6 host in brackets. Throws `StoreUnusable`. */
export function addressOf(broker: string): Address {
  const [, host = '', port = ''] = /^\[?([^\s/]+?)\]?:(\d{1,5})$/.exec(broker) ?? [];
  if (host === '' || Number(port) > 65_535)
    throw new StoreUnusable(`a broker is named as host:port, not as "${broker}"`);
  return { host, port: Number(port) };
}

const KEEP_ALIVE_MS = 30_000;
const WARN = 2;

/** Every fault is told again, with more sense, by whoever meets it. */
function note(logger: Logger, { namespace, log: { message, broker, error } }: LogEntry): void {
  logger.debug({ kafkajs: namespace, broker, error }, message);
}

function definitionOf(api: Api) {
  const definition = protocol.requests[api];
  if (!definition) throw new Error(`kafkajs does not know ${api}`);
  return definition;
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

/**
 * kafkajs looks after requests that wait to be sent with a timer that it sets again for ever, at once or at a time that
 * has passed, though there are none: a tenth of a core, and warnings. It is needed only when a request does wait.
 */
const schedule = RequestQueue.prototype.scheduleCheckPendingRequests;
RequestQueue.prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
  if (this.pending.length > 0) schedule.call(this);
};
