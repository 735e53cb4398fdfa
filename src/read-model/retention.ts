import type { Fields, Position } from './document.js';
import { type ExpiryClasses, type KindName, kindOf } from './kinds.js';
import type { Filter } from './search.js';

/**
 * Which documents have expired. Reads ask at each call, so a changed limit takes effect at once; it only ever moves
 * forward, and what it once hid stays hidden.
 */
export interface Retention {
  /**
   * By class of the kind's `expiresBy`: documents whose record the log took before this instant, in milliseconds, have
   * expired. Classes without an entry never expire.
   */
  limits(kind: KindName, org: string): Limits;
  /** The organizations that have a limit. */
  orgs(kind: KindName): Iterable<string>;
}

/** Under this token Nest injects the `Retention`. */
export const RETENTION = Symbol('Retention');

/** Milliseconds since 1970 by expiry class. */
export type Limits = ReadonlyMap<string, number>;

const NO_LIMITS: Limits = new Map();

/** Nothing expires. */
export const KEEP_ALL: Retention = { limits: () => NO_LIMITS, orgs: () => [] };

export function limitsOf(retention: Retention, kind: KindName, org: string): Limits {
  return kindOf(kind).expiresBy ? retention.limits(kind, org) : NO_LIMITS;
}

/** The limits that hide some of what the filters match. */
export function limitsWithin(kind: KindName, limits: Limits, filters: readonly Filter[]): [string, number][] {
  const by = kindOf(kind).expiresBy?.field;
  const only = filters.find((filter) => filter.field === by && filter.op === '=');
  const value = only?.op === '=' ? only.value : undefined;
  return [...limits].filter(
    ([name, limit]) => limit > 0 && (value === undefined || value === valueOfClass(kind, name)),
  );
}

/** The expiry class of a document, which selects its limit; undefined if it never expires. */
export function expiryClass(kind: KindName, fields: Fields): string | undefined {
  const { expiresBy } = kindOf(kind);
  const value = expiresBy && fields[expiresBy.field];
  if (!expiresBy || typeof value !== 'string') return undefined;
  const { apart } = expiresBy;
  return value === apart.value && fields[apart.field] === apart.is ? apart.name : value;
}

/** The value that documents of the class have in the field that defines the classes. */
export function valueOfClass(kind: KindName, className: string): string {
  const apart = kindOf(kind).expiresBy?.apart;
  return apart?.name === className ? apart.value : className;
}

/** The fields that determine the class. */
export function classFields(kind: KindName): readonly string[] {
  const { expiresBy } = kindOf(kind);
  return expiresBy ? [expiresBy.field, expiresBy.apart.field] : [];
}

/** Throws for a kind whose documents never expire. */
export function expiryOf(kind: KindName): ExpiryClasses {
  const { expiresBy } = kindOf(kind);
  if (!expiresBy) throw new Error(`documents of ${kind} do not expire`);
  return expiresBy;
}

/** Whether a document with these fields, whose record the log took at `time`, has expired. */
export function hasExpired(kind: KindName, limits: Limits, fields: Fields, time: number): boolean {
  if (limits.size === 0) return false;
  const name = expiryClass(kind, fields);
  const limit = name === undefined ? undefined : limits.get(name);
  return limit !== undefined && time < limit;
}

/** A document, stored or to be stored, as far as its expiry depends on it. */
export interface Expirable {
  readonly org: string;
  readonly place: Position;
  readonly fields?: Fields;
}

/** Whether documents have expired by now. A document that expired once stays expired. */
export class Expiry {
  /** Limits only move forward, so whatever an earlier one hid is hidden still. */
  private readonly known = new Map<string, Limits>();

  constructor(private readonly retention: Retention) {}

  has(kind: KindName, document: Expirable): boolean {
    const { org, place, fields = {} } = document;
    const known = this.known.get(`${kind}/${org}`);
    if (known && hasExpired(kind, known, fields, place.time)) return true;
    const limit = this.limit(kind, document);
    return limit !== undefined && place.time < limit;
  }

  /** Documents whose record the log took before this instant have expired; undefined if they never do. */
  limit(kind: KindName, { org, fields = {} }: Expirable): number | undefined {
    const name = expiryClass(kind, fields);
    if (name === undefined) return undefined;
    const limits = this.retention.limits(kind, org);
    this.known.set(`${kind}/${org}`, limits);
    return limits.get(name);
  }
}
