import { isUtf8 } from 'node:buffer';
import type { PublishItem } from '../../commands/audit-publish.js';
import { ControlError } from '../../contract/errors.js';
import { LIMITS } from '../../contract/limits.js';
import type { SentAuditEvent } from '../../model/audit-event.js';
import type { IngestMapping, IngestSettings, Preset, Sources } from '../../model/ingest.js';
import { isObject, type Json } from '../../model/json.js';
import type { Steps } from '../../platform/turns.js';
import { FORMATS } from '../../shapes/shape.js';
import { parseJson } from '../json/parse.js';
import { pick } from '../json/pick.js';
import { isLong, readEvent, tooLong, Unmappable } from './candidate.js';
import { presetOf } from './presets.js';
import { syslogLine } from './syslog-line.js';
import { readTime } from './times.js';

/** Makes an event of a line, with the whole line in `resource.data`, byte for byte. Throws `Unmappable`. */
export type Mapper = (raw: Buffer) => Steps<PublishItem>;

/** For lines that reach a context now. */
export function mapperOf(settings: IngestSettings, context: string, now: number): Mapper {
  const { mapping, keys } = mappingsOf(settings, context);
  const read = partsReader(mapping, keys, now);
  const paths = keyPaths(keys);
  return function* (raw) {
    if (isLong(raw)) throw tooLong(raw, read((yield* pick(raw, paths)) as Json).key);
    const { value, data } = lineOf(raw, settings.preset);
    const { key, resource, others } = read(value);
    if (!('name' in resource) && !('id' in resource)) throw new Unmappable(unnamed(settings), key);
    return yield* keyed(key, eventOf(around(data, resource, others), now));
  };
}

/** What a mapping found. Members that it did not find are absent. */
export interface Parts {
  readonly key?: string | undefined;
  readonly resource: SentAuditEvent['resource'];
  readonly others: Pick<SentAuditEvent, 'eventTime' | 'subject' | 'action' | 'result'>;
}

/** Reads what the settings point at themselves, without their preset; undefined if that is nothing. */
export function settingsReader(
  settings: IngestSettings | undefined,
  now: number,
): ((value: Json) => Parts) | undefined {
  const { preset: _, ...said } = settings ?? {};
  return Object.keys(said).length > 0 ? partsReader(said, [said], now) : undefined;
}

function partsReader(mapping: IngestMapping, keys: readonly IngestMapping[], now: number): (value: Json) => Parts {
  const { resource, subject, action, result, message, time } = mapping;
  const read = {
    type: reader(resource?.type),
    name: reader(resource?.name),
    id: reader(resource?.id),
    email: reader(subject?.email),
    subject: reader(subject?.name),
    action: reader(action),
    status: reader(result),
    message: reader(message),
    time: timeReader(time, now),
    key: firstOf(keys.flatMap(({ key, position }) => [reader(key), together(position?.map(reader) ?? [])])),
  };
  return (value) => {
    const email = read.email(value);
    return {
      key: read.key(value),
      resource: { ...some('type', read.type(value)), ...some('name', read.name(value)), ...some('id', read.id(value)) },
      others: {
        ...some('eventTime', read.time(value)),
        ...group('subject', {
          ...(isAddress(email) && some('email', email)),
          ...some('name', read.subject(value)),
        }),
        ...group('action', some('type', read.action(value))),
        ...group('result', { ...some('status', read.status(value)), ...some('message', read.message(value)) }),
      },
    };
  };
}

/** What is read, or why it cannot be, under a key. */
export function* keyed(key: string | undefined, reading: Steps<PublishItem>): Steps<PublishItem> {
  if (key === undefined) return yield* reading;
  try {
    return { ...(yield* reading), idempotencyKey: key };
  } catch (error) {
    throw error instanceof Unmappable ? new Unmappable(error.message, key) : error;
  }
}

/** What the settings say goes before what their preset says, and the keys of the preset name what theirs do not. */
function mappingsOf({ preset, ...said }: IngestSettings, context: string) {
  const base: IngestMapping = preset === undefined ? {} : presetOf(preset, context);
  const resource = { ...base.resource, ...said.resource };
  return { mapping: { ...base, ...said, resource, subject: { ...base.subject, ...said.subject } }, keys: [said, base] };
}

interface Line {
  /** What pointers point into. */
  readonly value: Json;
  /** JSON of the whole line. */
  readonly data: Buffer;
}

const OPEN_OBJECT = /^\s*\{/;

function lineOf(raw: Buffer, preset: Preset | undefined): Line {
  const isText = preset === 'plain' || preset === 'syslog';
  try {
    const { value } = parseJson(raw);
    if (isObject(value)) return { value, data: raw };
    if (!isText) throw new Unmappable('the line is JSON, but no object');
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    if (!isText) throw new Unmappable(error.message.replace('the body', 'the line'));
  }
  if (!isUtf8(raw)) throw new Unmappable('the line is not valid UTF-8');
  const line = raw.toString().replace(/\r$/, '');
  const parts = preset === 'syslog' ? syslogLine(line) : {};
  if (!parts) throw new Unmappable(`the line is neither ${OPEN_OBJECT.test(line) ? 'sound JSON' : 'JSON'} nor syslog`);
  const value = { line, ...parts };
  return { value: { message: line, ...value }, data: Buffer.from(JSON.stringify(value)) };
}

/** What a key is read of. */
function keyPaths(keys: readonly IngestMapping[]): string[][] {
  const sources = keys.flatMap(({ key, position }) => [key ?? [], position ?? []].flat(2));
  return sources.flatMap((source) => (typeof source === 'string' ? [pathOf(source)] : []));
}

type Reader = (line: Json) => string | undefined;

/** Reads the first source that has a text, a number or a boolean, as a text that lists can filter by. */
function reader(sources: Sources | undefined): Reader {
  return firstOf(
    [sources ?? []].flat().map((source): Reader => {
      if (typeof source !== 'string') return () => source.value;
      const at = pathOf(source);
      return (line) => filterable(written(valueAt(line, at))?.text);
    }),
  );
}

/** As `reader`, of the first source that has a time that can be read. */
function timeReader(sources: Sources | undefined, now: number): Reader {
  return firstOf(
    [sources ?? []].flat().map((source): Reader => {
      if (typeof source !== 'string') return () => readTime(source.value, false, now);
      const at = pathOf(source);
      return (line) => {
        const value = written(valueAt(line, at));
        return value && readTime(value.text.trim(), value.isNumber, now);
      };
    }),
  );
}

function firstOf(readers: readonly Reader[]): Reader {
  return (line) => {
    for (const read of readers) {
      const text = read(line);
      if (text !== undefined) return text;
    }
    return undefined;
  };
}

/** RFC 6901. */
function pathOf(pointer: string): string[] {
  const names = pointer.split('/').slice(1);
  return names.map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function valueAt(line: Json, path: readonly string[]): unknown {
  let value: unknown = line;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Json)[name];
  }
  return value;
}

function written(value: unknown): { readonly text: string; readonly isNumber: boolean } | undefined {
  if (typeof value === 'string') return { text: value, isNumber: false };
  if (typeof value === 'boolean') return { text: String(value), isNumber: false };
  const isNumber = typeof value === 'number' || (JSON.isRawJSON(value) as boolean);
  return isNumber ? { text: JSON.stringify(value), isNumber } : undefined;
}

/** As long as lists filter by, and without control characters; the whole text is in the line. Undefined if nothing is left. */
function filterable(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const clean = text
    .slice(0, 4 * LIMITS.text)
    .replace(/\p{Cc}+/gu, ' ')
    .trim();
  const cut = clean.length <= LIMITS.text ? clean : Array.from(clean).slice(0, LIMITS.text).join('');
  return cut === '' ? undefined : cut.toWellFormed();
}

/** A name of a user is not an address just because it is where others have one. */
function isAddress(email: string | undefined): boolean {
  return email !== undefined && FORMATS.email?.(email) === true;
}

/** Without all of them they name nothing. */
function together(readers: readonly Reader[]): Reader {
  return (line) => {
    const parts = readers.map((read) => read(line));
    return parts.length === 0 || parts.includes(undefined) ? undefined : JSON.stringify(parts);
  };
}

function unnamed({ preset, resource }: IngestSettings): string {
  const sources = [resource?.name ?? [], resource?.id ?? []].flat().filter((source) => typeof source === 'string');
  const where = sources.length > 0 ? ` at ${sources.join(', ')}` : '';
  return `the line has no name or id of its resource${where}${preset === undefined ? '' : ` (preset ${preset})`}`;
}

function some<Name extends string>(name: Name, value: string | undefined): Partial<Record<Name, string>> {
  return value === undefined ? {} : ({ [name]: value } as Record<Name, string>);
}

function group<Name extends string>(
  name: Name,
  members: Record<string, string>,
): Partial<Record<Name, typeof members>> {
  return Object.keys(members).length > 0 ? ({ [name]: members } as Record<Name, typeof members>) : {};
}

/** Made as text, so that the line is recorded as it came, number for number. */
function around(line: Buffer, resource: object, rest: object): Buffer {
  const named = JSON.stringify(resource).slice(0, -1);
  const others = JSON.stringify(rest).slice(1);
  return Buffer.concat([
    Buffer.from(`{"resource":${named},"data":`),
    line,
    Buffer.from(others === '}' ? '}}' : `},${others}`),
  ]);
}

/** In a step of its own: the line was parsed in the one before. */
function* eventOf(json: Buffer, now: number): Steps<PublishItem> {
  yield;
  return readEvent(json, now);
}
