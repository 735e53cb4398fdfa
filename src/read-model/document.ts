import type { Topic } from '../event-log/event-log.js';
import type { KindName } from './kinds.js';

/** The record that a document came from, and which of its documents it is. */
export interface Position {
  readonly topic: Topic;
  readonly partition: number;
  readonly offset: number;
  /** Tells the documents of one record apart, from 0. */
  readonly ordinal: number;
  /** When the log took the record, in milliseconds. */
  readonly time: number;
}

interface WriteTo {
  readonly kind: KindName;
  readonly org: string;
  readonly id: string;
  readonly place: Position;
}

interface DocumentContent {
  /** The values of the kind's fields; one that is absent is not stored and matches no filter. */
  readonly fields: Fields;
  /** JSON text, answered as it is, byte for byte. */
  readonly source: string;
}

export interface WriteContent extends Omit<DocumentContent, 'source'> {
  /** The same, or its UTF-8: what is only passed on need not be decoded, and what waits is no burden for the collector. */
  readonly source: string | Uint8Array;
}

/**
 * - `create`: the first of an identifier stays for ever. `hash` tells a repetition from another content.
 * - `put`, `delete`: the newest place wins, so an older write that arrives late changes nothing, after a delete too.
 */
export type Write =
  | (WriteTo & WriteContent & { readonly op: 'create'; readonly hash?: string })
  | (WriteTo & WriteContent & { readonly op: 'put' })
  | (WriteTo & { readonly op: 'delete' });

/**
 * - `applied`: the document is there because of this write, now or at an earlier delivery of it (same place).
 * - `duplicate`: another place created the identifier, with the same hash (or neither has one).
 * - `conflict`: another place created the identifier, with another hash.
 * - `stale`: a `put` or `delete` older than what is there.
 */
export type OutcomeCode = 'applied' | 'duplicate' | 'conflict' | 'stale';

export interface Outcome {
  readonly code: OutcomeCode;
  readonly id: string;
}

export type FieldValue = string | number;
export type Fields = Readonly<Record<string, FieldValue | undefined>>;

export interface Document extends DocumentContent {
  readonly id: string;
  readonly place: Position;
}

/** A document as it is stored. */
export interface StoredDocument {
  readonly org: string;
  readonly id: string;
  readonly place: Position;
  readonly fields: Fields;
  readonly source: string;
  readonly hash?: string;
  readonly deleted: boolean;
  /** The adapter's own name of where it is stored; tells copies apart. */
  readonly location: string;
  /** It stands where reads do not look for it, or is damaged: it must be written anew. */
  readonly misplaced: boolean;
}

export function sourceText({ source }: { readonly source: string | Uint8Array }): string {
  return typeof source === 'string' ? source : Buffer.from(source.buffer, source.byteOffset, source.length).toString();
}
