import type { Logger } from 'pino';

export interface Address {
  readonly host: string;
  readonly port: number;
}

interface Tls {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly rejectUnauthorized?: boolean;
}

interface Sasl {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
  readonly username: string;
  readonly password: string;
}

export interface KafkaEventLogOptions {
  /** The brokers to connect to first, each `host:port`. */
  readonly brokers: readonly string[];
  readonly clientId?: string;
  /** Undefined: without TLS. */
  readonly tls?: Tls | undefined;
  readonly sasl?: Sasl | undefined;
  /** Before the name of every topic and group: several services can share a cluster. */
  readonly topicPrefix?: string;
  /** Of `audit` when it is made, which must never have fewer. Undefined: as many as it has, or 12. */
  readonly partitions?: number | undefined;
  /** Copies of each partition; 1 says that the cluster is a single broker, and may lose what it acknowledged. */
  readonly replication?: 1 | 3;
  /** Whether expired records are deleted from the beginning of `audit`, so that it may begin late. */
  readonly deleteExpired?: boolean;
  /** The most that may wait to be acknowledged. */
  readonly maxPending?: { readonly entries: number; readonly bytes: number };
  /** Of one record, and of all records that go to one partition in one request. */
  readonly maxRecordBytes?: number;
  /** How long an append waits for others that can go with it. */
  readonly lingerMs?: number;
  /** The most records in one request. */
  readonly batchRecords?: number;
  /** The most bytes that a reader of a topic fetches ahead of what is taken. */
  readonly feedBytes?: number;
  /** How long an append is retried before it is rejected. */
  readonly deliveryMs?: number;
  /** How long a broker may take to respond. */
  readonly requestMs?: number;
  readonly logger: Logger;
  /** For tests and tunnels: where to connect instead of a broker's own address. */
  readonly route?: (broker: Address) => Address;
}

export const DEFAULTS = {
  clientId: 'control-service',
  topicPrefix: '',
  replication: 3,
  deleteExpired: false,
  maxPending: { entries: 20_000, bytes: 64 * 1024 * 1024 },
  maxRecordBytes: 900 * 1024,
  lingerMs: 5,
  batchRecords: 500,
  feedBytes: 48 * 1024 * 1024,
  deliveryMs: 30_000,
  requestMs: 10_000,
} as const satisfies Partial<KafkaEventLogOptions>;

/** The options, with defaults. */
export type Settings = KafkaEventLogOptions & Required<Pick<KafkaEventLogOptions, keyof typeof DEFAULTS>>;
