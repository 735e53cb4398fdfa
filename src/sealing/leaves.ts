import { derivedEvents, folder } from '../control/derived-events.js';
import type { ControlFold } from '../control/fold.js';
import type { SkippedRecords } from '../control/skipped.js';
import { orgOf, piecesWithReceivedTime } from '../event-log/audit-record.js';
import { type LogRecord, UnreadableRecord } from '../event-log/event-log.js';
import { sha256 } from '../tlog/hash.js';
import { orgSecret, sealedEntry } from '../tlog/leaf.js';

/** What a record adds to the trees. */
export interface Sealable {
  readonly offset: number;
  readonly time: number;
  readonly leaves: readonly Leaf[];
  /** What the record adds to the digest of its cut. */
  readonly digest?: Buffer;
  /** Whether it is of `audit` and gives no leaf. */
  readonly isUnreadable: boolean;
}

export interface Leaf {
  readonly org: string;
  readonly entry: Buffer;
}

/** Nothing behind this record of the partition can be sealed by this version. */
export class NotSealable extends Error {
  override readonly name = 'NotSealable';
}

/** Names of organizations, as they were when formats froze. */
const ORG = /^[a-z][-a-z0-9]{0,61}[a-z0-9]$/;
const KEPT_SECRETS = 10_000;
const TOPICS = { audit: 1, control: 2 } as const;

/**
 * The leaves of records. Which records give leaves, and which bytes these commit to, is a format (ADR 29). Records of
 * `control` must come in order, each once.
 */
export class LeafMaker {
  private readonly secrets = new Map<string, Buffer>();
  private readonly control;

  constructor(
    private readonly secret: Buffer,
    fold: ControlFold,
    skipped?: SkippedRecords,
  ) {
    this.control = folder(fold, skipped);
  }

  /** Throws `NotSealable`. */
  of(record: LogRecord): Sealable {
    return record.topic === 'control' ? this.ofControl(record) : this.ofAudit(record);
  }

  orgSecret(org: string): Buffer {
    const known = this.secrets.get(org);
    if (known) return known;
    if (this.secrets.size >= KEPT_SECRETS) this.secrets.clear();
    const made = orgSecret(this.secret, org);
    this.secrets.set(org, made);
    return made;
  }

  private ofAudit(record: LogRecord): Sealable {
    const { offset, time, headers, undecodable } = record;
    if (undecodable === undefined && Number(headers.v) > 1) {
      throw new NotSealable(
        `audit/${record.partition}/${offset} has schema version ${headers.v}: start a newer version`,
      );
    }
    const org = orgWithLeaf(record);
    if (org === undefined) return { offset, time, leaves: [], digest: digestOf(record), isUnreadable: true };
    const leaf = this.leaf(org, record, 0, piecesWithReceivedTime(record.value, time));
    return { offset, time, leaves: [leaf], isUnreadable: false };
  }

  private ofControl(record: LogRecord): Sealable {
    const { offset, time } = record;
    try {
      const applied = this.control.take(record);
      const events = applied ? derivedEvents(applied, record) : [];
      const leaves = events.map(({ org, source }, rank) => this.leaf(org, record, rank, [source, '']));
      return { offset, time, leaves, digest: digestOf(record), isUnreadable: false };
    } catch (cause) {
      if (!(cause instanceof UnreadableRecord)) throw cause;
      throw new NotSealable(`control/0/${offset} ${cause.message}`, { cause });
    }
  }

  private leaf(
    org: string,
    { topic, partition, offset, time }: LogRecord,
    rank: number,
    text: readonly [Uint8Array, string],
  ): Leaf {
    const place = { topic: topic as keyof typeof TOPICS, partition, offset, rank };
    return { org, entry: sealedEntry(this.orgSecret(org), place, time, text) };
  }
}

/** Undefined for a record that gives no leaf. */
function orgWithLeaf(record: LogRecord): string | undefined {
  try {
    const org = orgOf(record);
    return ORG.test(org) ? org : undefined;
  } catch (error) {
    if (error instanceof UnreadableRecord) return undefined;
    throw error;
  }
}

const DIGEST_BYTES = 1 + 2 + 8 + 8 + 32;

/** u8 topic, u16 partition, u64 offset, u64 time, SHA-256 of key, headers and value. */
function digestOf({ topic, partition, offset, time, key, headers, value }: LogRecord): Buffer {
  const digest = Buffer.allocUnsafe(DIGEST_BYTES);
  digest.writeUInt8(TOPICS[topic as keyof typeof TOPICS]);
  digest.writeUInt16BE(partition, 1);
  digest.writeBigUInt64BE(BigInt(offset), 3);
  digest.writeBigUInt64BE(BigInt(time), 11);
  const names = Object.keys(headers).sort();
  const texts = JSON.stringify([key, names.map((name) => [name, headers[name]])]);
  digest.set(sha256(Buffer.concat([Buffer.from(texts), Buffer.of(0), value])), 19);
  return digest;
}
