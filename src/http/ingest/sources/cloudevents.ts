import type { PublishItem } from '../../../commands/audit-publish.js';
import { ControlError } from '../../../contract/errors.js';
import { isObject, type Json } from '../../../model/json.js';
import type { Steps } from '../../../platform/turns.js';
import { parseJson } from '../../json/parse.js';
import { pick } from '../../json/pick.js';
import { asMappable, isLong, readEvent, tooLong, Unmappable } from '../candidate.js';
import type { Mapper } from '../mapping.js';
import { beforeCharacter, isText } from '../unmapped.js';
import { objectAlone } from './alone.js';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** How a request carries CloudEvents, by its `Content-Type` and headers (HTTP protocol binding 1.0.2, section 3). */
export function cloudEventsMode(type: string, headers: Headers): 'structured' | 'batched' | 'binary' | undefined {
  const media = type.split(';', 1)[0]?.trim().toLowerCase();
  if (media === 'application/cloudevents-batch+json') return 'batched';
  if (media === 'application/cloudevents+json') return 'structured';
  return headers['ce-specversion'] === undefined ? undefined : 'binary';
}

const REQUIRED = ['specversion', 'id', 'source', 'type'] as const;

/** Of a CloudEvent in JSON: its data if that is an event of ours, else what the mapper makes of the whole. */
export function* cloudEvent(raw: Buffer, map: Mapper, now: number): Steps<PublishItem> {
  const { attributes, data } = yield* isLong(raw) ? longParts(raw) : partsOf(raw);
  const missing = REQUIRED.find((name) => typeof attributes[name] !== 'string' || attributes[name] === '');
  if (missing !== undefined) throw new Unmappable(`the CloudEvent has no attribute ${missing}`);
  const key = JSON.stringify([attributes.source, attributes.id]);
  if (attributes.specversion !== '1.0') {
    throw new Unmappable(`the CloudEvent has specversion ${attributes.specversion}; only 1.0 is read`, key);
  }
  if (isLong(raw)) throw tooLong(raw, key);
  const own = data?.includes('"resource"') ? yield* ownEvent(data, attributes, now) : undefined;
  return own ? { ...own, idempotencyKey: key } : yield* map(raw);
}

interface Parts {
  readonly attributes: Json;
  /** JSON, if the attributes are. */
  readonly data?: Buffer | undefined;
}

function* longParts(raw: Buffer): Steps<Parts> {
  const paths = REQUIRED.map((name) => [name]);
  return { attributes: asObject(yield* pick(raw, paths)) };
}

/** The data, which may be long, is not parsed here. */
function* partsOf(raw: Buffer): Steps<Parts> {
  const text = (yield* objectAlone(raw))?.members.get('data');
  if (!text) return { attributes: parsed(raw) };
  const start = text.byteOffset - raw.byteOffset;
  const around = Buffer.concat([raw.subarray(0, start), NULL, raw.subarray(start + text.length)]);
  const { data: _null, ...attributes } = parsed(around, raw);
  return { attributes, data: text };
}

const NULL = Buffer.from('null');

/** Of a part of a text. Throws `Unmappable`, with the place in the whole. */
function parsed(part: Buffer, whole = part): Json {
  const value = asMappable(() => {
    try {
      return parseJson(part).value;
    } catch (error) {
      parseJson(whole);
      throw error;
    }
  });
  return asObject(value);
}

function asObject(value: unknown): Json {
  if (!isObject(value)) throw new Unmappable('the CloudEvent is no JSON object');
  return value;
}

/** The event of ours in the data, with the other attributes in its context: who reads it sees what carried it. */
function* ownEvent(text: Buffer, cloudevent: Json, now: number): Steps<PublishItem | undefined> {
  try {
    yield;
    const { event, verbatim } = readEvent(text, now);
    if (!verbatim) return undefined;
    yield;
    const { context } = (event.context?.data ? verbatim.parse() : event) as {
      readonly context?: { readonly data?: Json };
    };
    const data = { ...context?.data, cloudevent };
    yield;
    return readEvent(verbatim.with({ ...event, context: { ...event.context, data } }), now);
  } catch (error) {
    if (error instanceof Unmappable) return undefined;
    throw error;
  }
}

/** How much is written in one step; in base64 it ends where a group of three bytes does. */
const WRITTEN_BYTES = 3 * 64 * 1024;

/** The CloudEvent of a request in binary mode, in JSON: attributes from headers, data from the body. */
export function* inJson(type: string, headers: Headers, body: Buffer): Steps<Buffer> {
  const attributes = Object.entries(headers).flatMap(([name, value]) =>
    name.startsWith('ce-') && typeof value === 'string' ? [[name.slice(3), decoded(value)]] : [],
  );
  const { data: _data, data_base64: _base64, ...named } = Object.fromEntries(attributes);
  const all = { ...named, ...(type !== '' && { datacontenttype: type }) };
  yield;
  if (body.length === 0) return Buffer.from(JSON.stringify(all));
  const begin = `${JSON.stringify(all).slice(0, -1)},`;
  if (!isLong(body) && isJson(body)) return Buffer.concat([Buffer.from(`${begin}"data":`), body, Buffer.from('}')]);
  const text = yield* isText(body);
  const parts = [Buffer.from(`${begin}"${text ? 'data' : 'data_base64'}":"`)];
  for (let start = 0; start < body.length; ) {
    const end = text ? beforeCharacter(body, start + WRITTEN_BYTES) : Math.min(start + WRITTEN_BYTES, body.length);
    const part = body.toString(text ? 'utf8' : 'base64', start, end);
    parts.push(Buffer.from(text ? JSON.stringify(part).slice(1, -1) : part));
    start = end;
    yield;
  }
  return Buffer.concat([...parts, Buffer.from('"}')]);
}

/** Section 3.1.3.2: percent-encoded. What is not encoded soundly is taken as it is. */
function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

function isJson(body: Buffer): boolean {
  try {
    parseJson(body);
    return true;
  } catch (error) {
    if (error instanceof ControlError) return false;
    throw error;
  }
}
