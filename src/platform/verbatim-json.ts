import { isUtf8 } from 'node:buffer';
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  endOfPlain,
  endOfScalar,
  isAt,
  NONE,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../contract/json-tokens.js';
import { type ReadObject, writtenWith } from './verbatim-writer.js';

/** What is known of an object's members: a text, an object of such members, or any object, which nobody looks into. */
export interface VerbatimShape {
  readonly [name: string]: 'text' | 'free' | VerbatimShape;
}

/** An object as it was sent. */
export interface Verbatim {
  /** With all texts; an empty object stands for each free one. */
  readonly value: object;
  /** The outermost object is at depth 1. */
  readonly depth: number;
  /** The JSON of an object made of members of `value` and others: what was sent is copied, byte for byte. */
  with(changed: object): Buffer;
  /** With the free objects too. */
  parse(): unknown;
}

interface Member {
  readonly key: string;
  readonly name: Uint8Array;
  readonly type: 'text' | 'free' | readonly Member[];
}

/** Stands for what was not read. To write it would lose that. */
class Free {
  toJSON(): never {
    throw new Error('a free member is written by copying it');
  }
}

const FREE = Object.freeze(new Free());
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
/** So long a whole number is in any case written back as it is. */
const SAFE_DIGITS = 15;
const LONGEST_NUMBER = 32;
/** With more members it takes longer to look for a duplicate than to parse. */
const MOST_MEMBERS = 32;
const PROTO = Buffer.from('__proto__');
/** What follows a backslash where `JSON.stringify` writes one, but for `u`. */
const ESCAPED = new Set(Array.from('"\\bfnrt', (char) => char.charCodeAt(0)));

/**
 * Reads objects of a known shape from JSON that `JSON.parse` and `JSON.stringify` would give back byte for byte, and makes
 * nothing of their free members: about half the CPU of parsing and writing. Other JSON must be parsed. What it accepts is
 * JSON without white space and without repeated names, `__proto__` and numbers that a double cannot hold.
 */
export class VerbatimJson {
  private readonly members: readonly Member[];
  private json: Buffer = Buffer.alloc(0);
  /** Behind what was read last. */
  private at = 0;
  /** The deepest so far. */
  private depth = 0;
  /** The names of the free objects that are open: begin and end of each. */
  private readonly names: number[] = [];

  constructor(
    shape: VerbatimShape,
    private readonly maxDepth: number,
  ) {
    this.members = membersOf(shape);
  }

  /** Undefined for what must be parsed, whether it is JSON or not. */
  read(json: Buffer): Verbatim | undefined {
    if (!isUtf8(json)) return undefined;
    this.json = json;
    this.at = 0;
    this.depth = 1;
    this.names.length = 0;
    const read = this.object(this.members, 1);
    if (!read || this.at !== json.length) return undefined;
    return {
      value: read.value,
      depth: this.depth,
      with: (changed) => writtenWith(json, read, changed),
      parse: () => JSON.parse(json.toString()),
    };
  }

  private enter(depth: number): boolean {
    if (depth > this.depth) this.depth = depth;
    return depth <= this.maxDepth;
  }

  private object(members: readonly Member[], depth: number): ReadObject | undefined {
    const { json } = this;
    if (json[this.at] !== OPEN_OBJECT || !this.enter(depth)) return undefined;
    const value: Record<string, unknown> = {};
    const keys: string[] = [];
    const marks = [this.at + 1];
    const inner: ReadObject[] = [];
    if (json[this.at + 1] === CLOSE_OBJECT) {
      this.at += 2;
      return { value, keys, marks, inner };
    }
    for (;;) {
      const start = this.at + 1;
      const end = this.endOfString(start);
      if (end === NONE || json[end] !== COLON) return undefined;
      const member = named(json, start + 1, end - 1, members);
      if (!member || value[member.key] !== undefined) return undefined;
      this.at = end + 1;
      const found = this.member(member, depth, inner);
      if (found === undefined) return undefined;
      value[member.key] = found;
      keys.push(member.key);
      const { at } = this;
      if (json[at] !== COMMA && json[at] !== CLOSE_OBJECT) return undefined;
      marks.push(at + 1);
      if (json[at] === COMMA) continue;
      this.at = at + 1;
      return { value, keys, marks, inner };
    }
  }

  private member({ type }: Member, depth: number, inner: ReadObject[]): unknown {
    if (type === 'text') return this.text();
    if (type === 'free') {
      if (this.json[this.at] !== OPEN_OBJECT) return undefined;
      this.at = this.endOfValue(this.at, depth);
      return this.at === NONE ? undefined : FREE;
    }
    const read = this.object(type, depth + 1);
    if (read) inner.push(read);
    return read?.value;
  }

  private text(): string | undefined {
    const { json, at } = this;
    if (json[at] !== QUOTE) return undefined;
    const plain = endOfPlain(json, at + 1);
    this.at = json[plain] === QUOTE ? plain + 1 : this.endOfString(at);
    if (this.at === NONE) return undefined;
    return this.at === plain + 1
      ? json.toString('utf8', at + 1, plain)
      : JSON.parse(json.toString('utf8', at, this.at));
  }

  private endOfValue(at: number, depth: number): number {
    const first = this.json[at];
    if (first === QUOTE) return this.endOfString(at);
    if (first === OPEN_OBJECT) return this.endOfFree(at, depth + 1);
    if (first === OPEN_ARRAY) return this.endOfArray(at, depth + 1);
    return this.endOfScalar(at);
  }

  private endOfFree(start: number, depth: number): number {
    const { json, names } = this;
    if (!this.enter(depth)) return NONE;
    if (json[start + 1] === CLOSE_OBJECT) return start + 2;
    const first = names.length;
    for (let at = start + 1; ; at += 1) {
      const end = this.endOfString(at);
      if (end === NONE || json[end] !== COLON || !this.isNewName(at + 1, end - 1, first)) return NONE;
      names.push(at + 1, end - 1);
      at = this.endOfValue(end + 1, depth);
      if (at === NONE) return NONE;
      if (json[at] === COMMA) continue;
      names.length = first;
      return json[at] === CLOSE_OBJECT ? at + 1 : NONE;
    }
  }

  private endOfArray(start: number, depth: number): number {
    const { json } = this;
    if (!this.enter(depth)) return NONE;
    if (json[start + 1] === CLOSE_ARRAY) return start + 2;
    for (let at = start + 1; ; at += 1) {
      at = this.endOfValue(at, depth);
      if (at === NONE || json[at] === CLOSE_ARRAY) return at === NONE ? NONE : at + 1;
      if (json[at] !== COMMA) return NONE;
    }
  }

  /** With a digit in front it may be an index: `JSON.parse` puts those first. Each accepted string has one spelling. */
  private isNewName(start: number, end: number, first: number): boolean {
    const { json, names } = this;
    const initial = json[start] as number;
    if (initial >= ZERO && initial <= NINE) return false;
    if (names.length - first >= 2 * MOST_MEMBERS) return false;
    for (let other = first; other < names.length; other += 2) {
      const from = names[other] as number;
      if ((names[other + 1] as number) - from === end - start && isSame(json, from, start, end - start)) return false;
    }
    return end - start !== PROTO.length || !isAt(json, start, PROTO);
  }

  /** Behind the string, if its escapes are the ones that `JSON.stringify` writes. */
  private endOfString(start: number): number {
    const { json } = this;
    if (json[start] !== QUOTE) return NONE;
    let at = endOfPlain(json, start + 1);
    while (json[at] === BACKSLASH && ESCAPED.has(json[at + 1] ?? 0)) at = endOfPlain(json, at + 2);
    return json[at] === QUOTE ? at + 1 : NONE;
  }

  private endOfScalar(at: number): number {
    const { json } = this;
    const end = endOfScalar(json, at);
    const first = json[at] as number;
    if (end === NONE || (first !== MINUS && (first < ZERO || first > NINE))) return end;
    if (first !== MINUS && end - at <= SAFE_DIGITS && isWhole(json, at, end)) return end;
    if (end - at > LONGEST_NUMBER) return NONE;
    const text = json.toString('latin1', at, end);
    return String(Number(text)) === text ? end : NONE;
  }
}

function membersOf(shape: VerbatimShape): readonly Member[] {
  return Object.entries(shape).map(([key, type]) => ({
    key,
    name: Buffer.from(key),
    type: typeof type === 'string' ? type : membersOf(type),
  }));
}

function named(json: Buffer, start: number, end: number, members: readonly Member[]): Member | undefined {
  for (const member of members) {
    if (member.name.length === end - start && isAt(json, start, member.name)) return member;
  }
  return undefined;
}

function isSame(json: Buffer, one: number, other: number, length: number): boolean {
  for (let index = 0; index < length; index += 1) if (json[one + index] !== json[other + index]) return false;
  return true;
}

function isWhole(json: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = json[at] as number;
    if (byte < ZERO || byte > NINE) return false;
  }
  return true;
}
