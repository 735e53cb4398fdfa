import { isUtf8 } from 'node:buffer';
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  endOfPlain,
  endOfScalar,
  isAt,
  memberAt,
  NONE,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../contract/json-tokens.js';
import { LeftOut } from './left-out.js';
import { type ReadObject, writtenWith } from './verbatim-writer.js';

/** What is known of an object's members: a text, an object of such members, or any object, which nobody looks into. */
export interface VerbatimShape {
  readonly [name: string]: 'text' | 'free' | VerbatimShape;
}

/** An object as it was sent, without the known members that are null. */
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
/** With more members, a duplicate is looked up and not searched for. */
const MOST_SEARCHED = 32;
const PROTO = Buffer.from('__proto__');
const NULL = Buffer.from('null');
/** What follows a backslash where `JSON.stringify` writes one, but for `u`; and its escapes with `u`. */
const ESCAPED = new Set(Array.from('"\\bfnrt', (char) => char.charCodeAt(0)));
const CONTROLS = new Set(
  Array.from({ length: 0x20 }, (_, code) => JSON.stringify(String.fromCharCode(code)).slice(1, -1)).filter(
    (text) => text.length === 6,
  ),
);

/**
 * Reads objects of a known shape from JSON, and makes nothing of their free members: about half the CPU of parsing and
 * writing, and numbers and the order of members stay as they were sent. It accepts JSON without white space, without
 * repeated names and `__proto__`, and with the escapes that `JSON.stringify` writes. A known member that is null counts as
 * absent, and is left out.
 */
export class VerbatimJson {
  private readonly members: readonly Member[];
  private json: Buffer = Buffer.alloc(0);
  /** Behind what was read last. */
  private at = 0;
  /** The deepest so far. */
  private depth = 0;
  private readonly leftOut = new LeftOut();
  /** The names of the free objects that are open: begin and end of each. */
  private readonly names: number[] = [];

  constructor(
    shape: VerbatimShape,
    private readonly maxDepth: number,
    /** Of JSON that was read: numbers that a double cannot hold must not be lost. */
    private readonly parse: (json: Buffer) => unknown,
  ) {
    this.members = membersOf(shape);
  }

  /** Undefined for what is not accepted, whether it is JSON or not. */
  read(json: Buffer): Verbatim | undefined {
    if (!isUtf8(json)) return undefined;
    this.json = json;
    this.at = 0;
    this.depth = 1;
    this.names.length = 0;
    this.leftOut.clear();
    const read = this.object(this.members, 1);
    if (!read || this.at !== json.length) return undefined;
    if (this.leftOut.hasAny) return this.read(this.leftOut.of(json));
    return {
      value: read.value,
      depth: this.depth,
      with: (changed) => writtenWith(json, read, changed),
      parse: () => this.parse(json),
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
      const member = memberAt(json, start + 1, end - 1, members);
      if (!member || value[member.key] !== undefined) return undefined;
      this.at = end + 1;
      const found = this.member(member, depth, inner);
      if (found === undefined) return undefined;
      value[member.key] = found;
      if (found === null) this.leftOut.add(json, start, this.at);
      keys.push(member.key);
      const { at } = this;
      if (json[at] !== COMMA && json[at] !== CLOSE_OBJECT) return undefined;
      marks.push(at + 1);
      if (json[at] === COMMA) continue;
      this.at = at + 1;
      return { value, keys, marks, inner };
    }
  }

  /** Undefined for what it may not be. */
  private member({ type }: Member, depth: number, inner: ReadObject[]): unknown {
    if (isAt(this.json, this.at, NULL)) {
      this.at += NULL.length;
      return null;
    }
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
    return endOfScalar(this.json, at);
  }

  private endOfFree(start: number, depth: number): number {
    const { json, names } = this;
    if (!this.enter(depth)) return NONE;
    if (json[start + 1] === CLOSE_OBJECT) return start + 2;
    const first = names.length;
    let known: Set<string> | undefined;
    for (let at = start + 1; ; at += 1) {
      const end = this.endOfString(at);
      if (end === NONE || json[end] !== COLON) return NONE;
      if (names.length - first === 2 * MOST_SEARCHED) known ??= this.namesFrom(first);
      if (known ? !this.isAdded(known, at + 1, end - 1) : !this.isNewName(at + 1, end - 1, first)) return NONE;
      if (!known) names.push(at + 1, end - 1);
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

  /** Each accepted string has one spelling. */
  private isNewName(start: number, end: number, first: number): boolean {
    const { json, names } = this;
    for (let other = first; other < names.length; other += 2) {
      const from = names[other] as number;
      if ((names[other + 1] as number) - from === end - start && isSame(json, from, start, end - start)) return false;
    }
    return !this.isProto(start, end);
  }

  private isProto(start: number, end: number): boolean {
    return end - start === PROTO.length && isAt(this.json, start, PROTO);
  }

  private namesFrom(first: number): Set<string> {
    const { json, names } = this;
    const known = new Set<string>();
    for (let at = first; at < names.length; at += 2) known.add(json.toString('latin1', names[at], names[at + 1]));
    return known;
  }

  /** Whether the name is new; then it is known from now on. */
  private isAdded(known: Set<string>, start: number, end: number): boolean {
    const { size } = known;
    return !this.isProto(start, end) && known.add(this.json.toString('latin1', start, end)).size > size;
  }

  /** Behind the string, if its escapes are the ones that `JSON.stringify` writes. */
  private endOfString(start: number): number {
    const { json } = this;
    if (json[start] !== QUOTE) return NONE;
    let at = endOfPlain(json, start + 1);
    while (json[at] === BACKSLASH) {
      const size = ESCAPED.has(json[at + 1] ?? 0) ? 2 : CONTROLS.has(json.toString('latin1', at, at + 6)) ? 6 : 0;
      if (size === 0) return NONE;
      at = endOfPlain(json, at + size);
    }
    return json[at] === QUOTE ? at + 1 : NONE;
  }
}

function membersOf(shape: VerbatimShape): readonly Member[] {
  return Object.entries(shape).map(([key, type]) => ({
    key,
    name: Buffer.from(key),
    type: typeof type === 'string' ? type : membersOf(type),
  }));
}

function isSame(json: Buffer, one: number, other: number, length: number): boolean {
  for (let index = 0; index < length; index += 1) if (json[one + index] !== json[other + index]) return false;
  return true;
}
