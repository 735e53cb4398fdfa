import { gzipSync } from 'node:zlib';
import { nested } from '../support/api.js';
import type { Random } from '../support/random.js';

export type Target = 'publish' | 'bulk array' | 'bulk NDJSON' | 'org';

export interface BadBody {
  /** What is wrong with it. */
  readonly name: string;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  /** In place of the body's own length. */
  readonly length?: number;
}

const EVENT = {
  resource: { id: 'r-1', name: 'web', type: 'workload', data: { n: 1, list: [1, 2, { deep: true }] } },
  eventTime: '2021-03-04T05:06:07.089Z',
  requestId: 'r',
  context: {
    location: 'l',
    gvcAlias: 'g',
    podId: 'p',
    remoteIp: '192.0.2.1',
    eventSource: 's',
    publisher: { link: 'l', keyId: 'k', remoteIp: 'r' },
    data: { a: 1 },
  },
  subject: { email: 'a@example.com', name: 'a', claims: { c: 1 }, data: { d: 1 } },
  action: { type: 'edit', data: { before: 1, after: 2 } },
  result: { status: 'OK', message: 'm' },
};
const ORG = { name: 'never-made', description: 'no', tags: { a: 'b' } };

const WRONG_VALUES: readonly unknown[] = [null, true, 0, -1, 1.5, '', 'x', [], [{}], {}, { toString: 1 }];

/** Makes a body that no route takes, whatever the target; each of them is refused in full, or item by item. */
export function badBody(random: Random, target: Target): BadBody {
  const make = random.pick(MAKERS);
  return make(random, target);
}

type Maker = (random: Random, target: Target) => BadBody;

const text = (value: unknown) => Buffer.from(JSON.stringify(value));

function sound(target: Target): Buffer {
  return wrapped(text(target === 'org' ? ORG : EVENT), target);
}

/** The one faulty thing where the target takes it. */
function wrapped(thing: Buffer, target: Target): Buffer {
  if (target === 'bulk array') return Buffer.concat([Buffer.from('['), thing, Buffer.from(']')]);
  return target === 'bulk NDJSON' ? Buffer.concat([thing, Buffer.from('\n')]) : thing;
}

function typeOf(target: Target): Record<string, string> {
  return { 'content-type': target === 'bulk NDJSON' ? 'application/x-ndjson' : 'application/json' };
}

const item =
  (name: string, make: (random: Random, target: Target) => Buffer | string): Maker =>
  (random, target) => ({
    name,
    body: wrapped(Buffer.from(make(random, target)), target),
    headers: typeOf(target),
  });

const whole =
  (name: string, make: (random: Random, target: Target) => Partial<BadBody>): Maker =>
  (random, target) => ({ name, body: sound(target), headers: typeOf(target), ...make(random, target) });

/** Puts a JSON text in the place of some member's value. */
function withValue(random: Random, target: Target, json: string): string {
  const places = target === 'org' ? ['name', 'description', 'tags', 'tags/a'] : PLACES;
  const path = random.pick(places).split('/');
  const copy = structuredClone<Record<string, unknown>>(target === 'org' ? ORG : EVENT);
  let at = copy;
  for (const name of path.slice(0, -1)) at = at[name] as Record<string, unknown>;
  at[path.at(-1) ?? ''] = '@@';
  return JSON.stringify(copy).replace('"@@"', () => json);
}

const PLACES = [
  ...['resource', 'eventTime', 'requestId', 'context', 'subject', 'action', 'result'],
  ...['resource/id', 'resource/name', 'resource/type', 'resource/data', 'context/location', 'context/podId'],
  ...['context/data', 'subject/email', 'subject/claims', 'subject/data', 'action/type', 'action/data', 'result/status'],
];

const MAKERS: readonly Maker[] = [
  whole('truncated', (random, target) => {
    const body = sound(target);
    // A cut at the last byte of NDJSON would only take the newline.
    return { body: body.subarray(0, random.whole(1, body.length - (target === 'bulk NDJSON' ? 2 : 1))) };
  }),
  item('a byte changed into one that JSON does not know', (random, target) => {
    const body = text(target === 'org' ? ORG : EVENT);
    body[random.whole(0, body.length - 1)] = random.pick([0x00, 0x01, 0x1f, 0xff, 0xc0, 0xfe]);
    return body;
  }),
  item('too deep', (random, target) => withValue(random, target, nested(random.pick([40, 200, 5_000, 50_000])))),
  item('deep and never closed', (random) => '[{"a":'.repeat(random.pick([10, 1_000, 20_000]))),
  item('a name twice', (random, target) => {
    const one = JSON.stringify(target === 'org' ? ORG : EVENT);
    return `${one.slice(0, -1)},"${random.pick(target === 'org' ? ['name', 'tags'] : ['resource', 'context', 'action'])}":{}}`;
  }),
  item('a lone surrogate', (random, target) =>
    withValue(random, target, random.pick(['"\\ud800"', '"a\\udfff"', '"\\ude00\\ud83d"', '{"\\ud83d":1}'])),
  ),
  item('not UTF-8', (random) => {
    const bad = random.pick([[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80], [0xe2, 0x82]]);
    return Buffer.concat([Buffer.from('{"resource":{"name":"'), Buffer.from(bad), Buffer.from('"}}')]);
  }),
  item('a NUL byte', (random) => random.pick(['\0', '{"resource":{"name":"a\0"}}', '{"name":"ab\0"}', '\0{}'])),
  item('a byte order mark', (_random, target) => `\ufeff${JSON.stringify(target === 'org' ? ORG : EVENT)}`),
  item('a huge number', (random, target) => {
    const digits = random.pick([400, 20_000, 200_000]);
    const value = random.pick([
      `1${'0'.repeat(digits)}`,
      `1e${digits}`,
      `-0.${'7'.repeat(digits)}`,
      '1e99999999999999',
    ]);
    return target === 'org' ? withValue(random, target, value) : `{"resource":{"name":${value}}}`;
  }),
  item('a very long text', (random, target) => {
    const long = random.pick(['x', 'ß', '😀']).repeat(random.pick([1_025, 20_000, 60_000]));
    return target === 'org' ? JSON.stringify({ name: long }) : JSON.stringify({ resource: { name: long } });
  }),
  item('a very long name', (random, target) => {
    const long = 'n'.repeat(random.pick([200, 50_000]));
    return JSON.stringify({ ...(target === 'org' ? ORG : EVENT), [long]: 1 });
  }),
  item('a wrong type', (random, target) => {
    const wrong = WRONG_VALUES.filter((value) => typeof value !== 'object' || value === null || Array.isArray(value));
    const places =
      target === 'org' ? ['name', 'tags'] : PLACES.filter((place) => !place.includes('/') && place !== 'requestId');
    const copy: Record<string, unknown> = structuredClone<Record<string, unknown>>(target === 'org' ? ORG : EVENT);
    const place = random.pick(places);
    // Optional members of events may be null.
    const isNullable = target !== 'org' && place !== 'resource';
    copy[place] = random.pick(isNullable ? wrong.filter((value) => value !== null) : wrong);
    return JSON.stringify(copy);
  }),
  item('a wrong thing as a whole', (random) => JSON.stringify(random.pick(WRONG_VALUES))),
  item('an unknown member', (random, target) => {
    const name = random.pick(['constructor', 'toString', 'hasOwnProperty', 'ünknown', '', '$ref', '__defineGetter__']);
    return JSON.stringify({ ...(target === 'org' ? ORG : EVENT), [name]: 1 });
  }),
  item('a prototype', (random, target) =>
    withValue(
      random,
      target,
      random.pick(['{"__proto__":{"a":1}}', '{"\\u005f_proto__":1}', '{"a":{"__proto__":null}}']),
    ),
  ),
  item('many small members', (random) => {
    const members = Array.from({ length: random.pick([1_000, 12_000]) }, (_, n) => `"m${n}":${n}`);
    return `{${members.join(',')}}`;
  }),
  item('random bytes', (random) => {
    const bytes = Buffer.from(Array.from({ length: random.whole(1, 3_000) }, () => random.whole(0, 255)));
    bytes[0] = 0x80;
    return bytes;
  }),
  whole('empty', (random) => ({ body: Buffer.from(random.pick(['', ' ', '\n\n', '\t\r\n'])) })),
  whole('larger than the service takes', (random, target) => {
    const bytes = target.startsWith('bulk') ? 8 * 1024 * 1024 : 256 * 1024;
    // Seldom in bulk: these are large.
    const size = target.startsWith('bulk') && !random.chance(0.1) ? bytes / 30 : bytes;
    return { body: wrapped(Buffer.from(`{"resource":{"name":"${'x'.repeat(size)}"}}`), target) };
  }),
  whole('a length beyond the body', (random, target) => ({ length: sound(target).length + random.whole(1, 100) })),
  whole('a length short of the body', (random, target) => ({ length: random.whole(0, sound(target).length - 2) })),
  whole('compressed, and says so', (random, target) => ({
    body: gzipSync(sound(target)),
    headers: { ...typeOf(target), 'content-encoding': random.pick(['gzip', 'deflate', 'br', 'gzip, gzip', 'x']) },
  })),
  whole('compressed without a word', (_random, target) => ({ body: gzipSync(sound(target)) })),
  whole('another content type', (random) => ({
    headers: { 'content-type': random.pick(CONTENT_TYPES) },
  })),
  whole('no content type', () => ({ headers: {} })),
];

const CONTENT_TYPES = [
  ...['text/plain', 'application/xml', 'multipart/form-data; boundary=x', 'application/x-www-form-urlencoded'],
  ...['application/octet-stream', 'application', '/', ';', 'application/json2', 'text/json', 'application/jsonl'],
];
