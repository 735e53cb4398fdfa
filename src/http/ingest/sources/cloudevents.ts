import type { PublishItem } from '../../../commands/audit-publish.js';
import { ControlError } from '../../../contract/errors.js';
import { isObject, type Json } from '../../../model/json.js';
import type { Steps } from '../../../platform/turns.js';
import { parseJson } from '../../json/parse.js';
import { asMappable, checkLength, readEvent, Unmappable } from '../candidate.js';
import { keyed, type Mapper } from '../mapping.js';
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
export function cloudEvent(raw: Buffer, map: Mapper, now: number): PublishItem {
  const { data, ...attributes } = parsed(raw);
  const missing = REQUIRED.find((name) => typeof attributes[name] !== 'string' || attributes[name] === '');
  if (missing !== undefined) throw new Unmappable(`the CloudEvent has no attribute ${missing}`);
  const key = JSON.stringify([attributes.source, attributes.id]);
  if (attributes.specversion !== '1.0') {
    throw new Unmappable(`the CloudEvent has specversion ${attributes.specversion}; only 1.0 is read`, key);
  }
  const own = isObject(data) && 'resource' in data ? ownEvent(raw, attributes, now) : undefined;
  if (!own) return map(raw);
  return keyed(key, () => own);
}

function parsed(raw: Buffer): Json {
  checkLength(raw);
  let value: unknown;
  asMappable(() => {
    ({ value } = parseJson(raw));
    return { event: { resource: {} } };
  });
  if (!isObject(value)) throw new Unmappable('the CloudEvent is no JSON object');
  return value;
}

/** The event of ours in the data, with the other attributes in its context: who reads it sees what carried it. */
function ownEvent(raw: Buffer, cloudevent: Json, now: number): PublishItem | undefined {
  try {
    const { event, verbatim } = readEvent(dataOf(raw), now);
    if (!verbatim) return undefined;
    const { context } = verbatim.parse() as { readonly context?: { readonly data?: Json } };
    const data = { ...context?.data, cloudevent };
    return readEvent(verbatim.with({ ...event, context: { ...event.context, data } }), now);
  } catch (error) {
    if (error instanceof Unmappable) return undefined;
    throw error;
  }
}

function dataOf(raw: Buffer): Buffer {
  const steps = objectAlone(raw);
  for (;;) {
    const { done, value } = steps.next(false);
    if (done) return value?.members.get('data') ?? Buffer.alloc(0);
  }
}

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
  if (isJson(body)) return Buffer.concat([Buffer.from(`${begin}"data":`), body, Buffer.from('}')]);
  const text = body.toString();
  const isText = Buffer.from(text).equals(body);
  const data = isText ? { data: text } : { data_base64: body.toString('base64') };
  return Buffer.from(begin + JSON.stringify(data).slice(1));
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
