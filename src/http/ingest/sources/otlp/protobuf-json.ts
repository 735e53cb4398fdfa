import { isUtf8 } from 'node:buffer';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  isPlain,
  NONE,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../../../../contract/json-tokens.js';
import { LIMITS } from '../../../../contract/limits.js';
import type { Members, Read } from './format.js';

const { Varint, Bit64, Bit32, LengthDelimited } = WireType;

/** How a field is read, and what it is in protobuf. */
const KINDS = {
  text: LengthDelimited,
  hex: LengthDelimited,
  value: LengthDelimited,
  attributes: LengthDelimited,
  count: Varint,
  flags: Bit32,
  nanoseconds: Bit64,
} as const;
type Kind = keyof typeof KINDS;

/** By number: the name in JSON, and the kind. */
export type Fields = Readonly<Record<number, readonly [name: string, kind: Kind]>>;

const ATTRIBUTES = ['attributes', 'attributes'] as const;
const DROPPED = ['droppedAttributesCount', 'count'] as const;
export const RECORD: Fields = {
  ...{ 1: ['timeUnixNano', 'nanoseconds'], 2: ['severityNumber', 'count'], 3: ['severityText', 'text'] },
  ...{ 5: ['body', 'value'], 6: ATTRIBUTES, 7: DROPPED, 8: ['flags', 'flags'], 9: ['traceId', 'hex'] },
  ...{ 10: ['spanId', 'hex'], 11: ['observedTimeUnixNano', 'nanoseconds'], 12: ['eventName', 'text'] },
};
export const RESOURCE: Fields = { 1: ATTRIBUTES, 2: DROPPED };
export const SCOPE: Fields = { 1: ['name', 'text'], 2: ['version', 'text'], 3: ATTRIBUTES, 4: DROPPED };

/** Of `AnyValue`: the numbers of its fields, and their types. */
const [TEXT, BOOL, INTEGER, DOUBLE, LIST, PAIRS, BYTES] = [1, 2, 3, 4, 5, 6, 7];
const VALUES = [NONE, LengthDelimited, Varint, Varint, Bit64, LengthDelimited, LengthDelimited, LengthDelimited];

const PROTO = '__proto__';
/** With more names, a duplicate is looked up and not searched for. */
const MOST_SEARCHED = 32;

/** What takes more as JSON is no event anyway. */
const out = Buffer.allocUnsafeSlow(LIMITS.bodyBytes);

/**
 * Writes a log record, a resource or a scope as JSON, from bytes to bytes: texts and names are copied. To make objects and
 * have them written takes twice the CPU. Attributes become an object; a list if a name is there twice, which OpenTelemetry
 * forbids, or can be none in an event. What is not known, or is there twice though only the last counts, is kept in
 * `rawBase64`, which has all of the bytes.
 */
export class JsonOfProtobuf {
  private readonly reader: BinaryReader;
  private at = 0;
  private isWhole = true;
  /** Of the field that was read last: its number, its type, and where its value begins. */
  private number = 0;
  private type: WireType = Varint;
  private start = 0;
  private end = 0;

  constructor(private readonly bytes: Buffer) {
    if (bytes.length > LIMITS.bodyBytes) throw new RangeError(`it has ${bytes.length} bytes`);
    this.reader = new BinaryReader(bytes);
  }

  /** Throws what is wrong with it. */
  read(fields: Fields): Read {
    const { bytes, reader } = this;
    const places = new Map<number, readonly [start: number, end: number]>();
    const pairs: number[] = [];
    while (this.next(bytes.length)) {
      const { number, start } = this;
      const [, kind] = fields[number] ?? [];
      if (!kind || KINDS[kind] !== this.type) this.isWhole = false;
      else if (kind === 'attributes') this.addPair(pairs, start, reader.pos);
      else {
        this.isWhole &&= !places.has(number);
        places.set(number, [start, reader.pos]);
      }
    }
    const members: Members = {};
    let isObject = true;
    for (const [number, [start, end]] of places) {
      const [name, kind] = fields[number] as Fields[number] & {};
      if (name === 'observedTimeUnixNano') members[name] = this.textOf(kind, start, end);
      else members[name] = this.member(name, kind, start, end);
    }
    if (pairs.length > 0) {
      this.begin('attributes');
      isObject = this.pairs(pairs, 1);
    }
    if (!this.isWhole) {
      this.begin('rawBase64');
      this.ascii(`"${bytes.toString('base64')}"`);
    }
    const json = Buffer.from(out.subarray(0, this.at));
    if (!isUtf8(json)) throw new TypeError('it has a text that is not UTF-8');
    return { members, attribute: (name) => (isObject ? this.attribute(pairs, name) : undefined), json };
  }

  /** Writes it, and returns what an event may be made of. */
  private member(name: string, kind: Kind, start: number, end: number): unknown {
    this.begin(name);
    if (kind === 'value') {
      this.value(start, end, 1);
      return this.textIn(this.open(start, end));
    }
    if (kind === 'text') {
      this.text(start, end);
      return this.bytes.toString('utf8', start, end);
    }
    const text = this.textOf(kind, start, end);
    this.ascii(kind === 'count' || kind === 'flags' ? text : `"${text}"`);
    return text;
  }

  private begin(name: string): void {
    this.ascii(this.at > 0 ? `,"${name}":` : `"${name}":`);
  }

  private textOf(kind: Kind, start: number, end: number): string {
    const { reader } = this;
    reader.pos = start;
    if (kind === 'hex') return this.bytes.toString('hex', start, end);
    if (kind === 'nanoseconds') return String(reader.fixed64());
    return String(kind === 'count' ? reader.uint32() : reader.fixed32());
  }

  /** Moves behind the next field of a message, if there is one. */
  private next(end: number): boolean {
    const { reader } = this;
    if (reader.pos >= end) {
      if (reader.pos === end) return false;
      throw new RangeError('a field goes beyond the end of its message');
    }
    const tag = reader.uint32();
    this.number = tag >>> 3;
    this.type = tag & 7;
    this.start = reader.pos;
    if (this.type === LengthDelimited) {
      const length = reader.uint32();
      this.start = reader.pos;
      reader.pos += length;
    } else reader.skip(this.type, this.number);
    return true;
  }

  /** Moves to what an `AnyValue` has. Returns the number of its field; 0 if it is empty. */
  private open(start: number, end: number): number {
    const { reader } = this;
    reader.pos = start;
    let last = 0;
    let from = 0;
    let to = 0;
    while (this.next(end)) {
      const isKnown = VALUES[this.number] === this.type;
      if (!isKnown || last > 0) this.isWhole = false;
      if (!isKnown) continue;
      last = this.number;
      from = this.start;
      to = reader.pos;
    }
    reader.pos = from;
    this.start = from;
    this.end = to;
    return last;
  }

  private value(start: number, end: number, depth: number): void {
    if (depth > LIMITS.depth) throw new RangeError(`it is nested deeper than ${LIMITS.depth} levels`);
    const number = this.open(start, end);
    if (number === TEXT) this.text(this.start, this.end);
    else if (number === LIST) this.list(this.items(this.start, this.end), depth);
    else if (number === PAIRS) this.pairs(this.items(this.start, this.end, true), depth);
    else {
      const text = this.textIn(number) ?? 'null';
      // There is no other number in JSON that is none.
      const isText = number === BYTES || (number === DOUBLE && !Number.isFinite(Number(text)));
      this.ascii(isText ? `"${text}"` : text);
    }
  }

  /** What `open` moved to as a text; undefined for lists, and for nothing. */
  private textIn(number: number): string | undefined {
    const { reader, bytes } = this;
    if (number === TEXT) return bytes.toString('utf8', this.start, this.end);
    if (number === BOOL) return String(reader.bool());
    if (number === INTEGER) return String(reader.int64());
    if (number === BYTES) return bytes.toString('base64', this.start, this.end);
    if (number !== DOUBLE) return undefined;
    const double = reader.double();
    return Object.is(double, -0) ? '-0' : String(double);
  }

  /** The text of the attribute with this name, in ASCII, among those at these places. */
  private attribute(pairs: readonly number[], name: string): string | undefined {
    for (let index = 0; index < pairs.length; index += 4) {
      const start = pairs[index] as number;
      if ((pairs[index + 1] as number) - start !== name.length || !this.isName(start, name)) continue;
      return this.textIn(this.open(pairs[index + 2] as number, pairs[index + 3] as number));
    }
    return undefined;
  }

  private isName(start: number, name: string): boolean {
    for (let index = 0; index < name.length; index += 1) {
      if (this.bytes[start + index] !== name.charCodeAt(index)) return false;
    }
    return true;
  }

  /** Places of the items of an `ArrayValue`, or of the names and values of a `KeyValueList`. */
  private items(start: number, end: number, arePairs = false): number[] {
    const { reader } = this;
    const items: number[] = [];
    reader.pos = start;
    while (this.next(end)) {
      if (this.number !== 1 || this.type !== LengthDelimited) this.isWhole = false;
      else if (arePairs) this.addPair(items, this.start, reader.pos);
      else items.push(this.start, reader.pos);
    }
    return items;
  }

  /** Adds the places of name and value of a `KeyValue`. */
  private addPair(pairs: number[], start: number, end: number): void {
    const { reader } = this;
    reader.pos = start;
    // What is absent is empty: no name, and the value null.
    let key = NONE;
    let keyEnd = NONE;
    let value = NONE;
    let valueEnd = NONE;
    while (this.next(end)) {
      if (this.number === 1 && this.type === LengthDelimited) {
        if (key !== NONE) this.isWhole = false;
        key = this.start;
        keyEnd = reader.pos;
      } else if (this.number === 2 && this.type === LengthDelimited) {
        if (value !== NONE) this.isWhole = false;
        value = this.start;
        valueEnd = reader.pos;
      } else this.isWhole = false;
    }
    pairs.push(key, keyEnd, value, valueEnd);
  }

  private list(items: readonly number[], depth: number): void {
    this.byte(OPEN_ARRAY);
    for (let index = 0; index < items.length; index += 2) {
      if (index > 0) this.byte(COMMA);
      this.value(items[index] as number, items[index + 1] as number, depth + 1);
    }
    this.byte(CLOSE_ARRAY);
  }

  /** Returns whether they became an object. */
  private pairs(pairs: readonly number[], depth: number): boolean {
    const isObject = this.areNames(pairs);
    this.byte(isObject ? OPEN_OBJECT : OPEN_ARRAY);
    for (let index = 0; index < pairs.length; index += 4) {
      const key = pairs[index] as number;
      const keyEnd = pairs[index + 1] as number;
      if (index > 0) this.byte(COMMA);
      if (!isObject) this.ascii('{"key":');
      this.text(key, keyEnd);
      if (isObject) this.byte(COLON);
      else this.ascii(',"value":');
      this.value(pairs[index + 2] as number, pairs[index + 3] as number, depth + 1);
      if (!isObject) this.byte(CLOSE_OBJECT);
    }
    this.byte(isObject ? CLOSE_OBJECT : CLOSE_ARRAY);
    return isObject;
  }

  /** Whether they can be names of an object: each is there once. */
  private areNames(pairs: readonly number[]): boolean {
    const known = pairs.length > 4 * MOST_SEARCHED ? new Set<string>() : undefined;
    for (let index = 0; index < pairs.length; index += 4) {
      const start = pairs[index] as number;
      const end = pairs[index + 1] as number;
      const name = known || end - start === PROTO.length ? this.bytes.toString('latin1', start, end) : '';
      if (name === PROTO || known?.has(name)) return false;
      known?.add(name);
      for (let other = 0; !known && other < index; other += 4) if (this.isSame(pairs, index, other)) return false;
    }
    return true;
  }

  private isSame(places: readonly number[], one: number, other: number): boolean {
    const start = places[one] as number;
    const length = (places[one + 1] as number) - start;
    const from = places[other] as number;
    if (length !== (places[other + 1] as number) - from) return false;
    for (let index = 0; index < length; index += 1) {
      if (this.bytes[start + index] !== this.bytes[from + index]) return false;
    }
    return true;
  }

  private text(start: number, end: number): void {
    const { bytes } = this;
    const began = this.at;
    this.byte(QUOTE);
    this.require(end - start);
    let { at } = this;
    // A loop, because most texts are short: to call what copies takes longer.
    for (let from = start; from < end; from += 1) {
      const byte = bytes[from] as number;
      if (!isPlain(byte)) {
        this.at = began;
        return this.escaped(start, end);
      }
      out[at] = byte;
      at += 1;
    }
    this.at = at;
    this.byte(QUOTE);
  }

  private escaped(start: number, end: number): void {
    if (!isUtf8(this.bytes.subarray(start, end))) throw new TypeError('it has a text that is not UTF-8');
    const json = JSON.stringify(this.bytes.toString('utf8', start, end));
    this.require(Buffer.byteLength(json));
    this.at += out.write(json, this.at);
  }

  private ascii(text: string): void {
    this.require(text.length);
    for (let index = 0; index < text.length; index += 1) out[this.at + index] = text.charCodeAt(index);
    this.at += text.length;
  }

  private byte(byte: number): void {
    this.require(1);
    out[this.at] = byte;
    this.at += 1;
  }

  private require(length: number): void {
    if (this.at + length > out.length) throw new RangeError(`it takes over ${out.length} bytes as JSON`);
  }
}
