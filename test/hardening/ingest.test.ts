import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { constants, deflateSync, gunzipSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { compiledMain, removeCompiled, type ServiceProcess, spawnService } from '../faults/process.js';
import { Api, type Event, Org, type OrgBody } from '../support/api.js';
import fc from '../support/fast-check.js';
import { ingest, rawOf } from '../support/ingest.js';
import { attributes, encodeRequest, requestOf } from '../support/otlp.js';
import { PATIENCE } from '../support/patience.js';
import { type Random, randomFor } from '../support/random.js';
import { TEST_SECRETS } from '../support/secrets.js';
import { FULL, scaled, Tally, tell } from './scale.js';

/** What Node gives a process in a container of 512 MiB: the flag of the image, and half of the container for old objects. */
const ENV = { ...TEST_SECRETS, NODE_OPTIONS: '--max-semi-space-size=32 --max-old-space-size=256' };
const MOST_RESIDENT_MIB = 512;
const MIB = 1024 * 1024;

const dataDir = mkdtempSync(join(tmpdir(), 'control-ingest-'));
let child: ServiceProcess;
let org: Org;

async function start(key?: string): Promise<void> {
  child = spawnService(compiledMain(), dataDir, ENV);
  const url = await child.listening;
  const made =
    key ?? (await new Api(url, TEST_SECRETS.CONTROL_ROOT_KEY).post<OrgBody>('/org', { name: 'acme' })).body.key;
  org = new Org(url, 'acme', made);
}

beforeAll(() => start());

afterAll(async () => {
  await child?.end('SIGKILL');
  rmSync(dataDir, { recursive: true, force: true });
  removeCompiled();
});

interface Page {
  readonly items: readonly Event[];
  readonly links: readonly { readonly rel: string; readonly href: string }[];
}

async function eventsOf(contextName: string): Promise<Event[]> {
  const found: Event[] = [];
  let query: string | undefined = `?contextName=${contextName}&pageSize=1000`;
  while (query !== undefined) {
    const { body }: { body: Page } = await org.api.get<Page>(query.startsWith('?') ? `${org.audit}${query}` : query);
    found.push(...body.items);
    query = body.links.find(({ rel }) => rel === 'next')?.href;
  }
  return found;
}

describe('any bytes', () => {
  const text = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.string({ unit: 'binary', maxLength: 60 }).map((value) => Buffer.from(value)),
    fc.json().map((value) => Buffer.from(value)),
    fc.record({ resource: fc.record({ name: fc.string({ minLength: 1, maxLength: 9 }) }) }).map(jsonBytes),
    fc
      .record({ idempotencyKey: fc.string({ minLength: 1 }), event: fc.constant({ resource: { id: 'w' } }) })
      .map(jsonBytes),
  );
  const line = text
    .map((bytes) => Buffer.from(bytes.filter((byte) => byte !== 10 && byte !== 13)))
    .filter((bytes) => bytes.toString('latin1').trim() !== '' && !/^[ \t]*$/.test(bytes.toString('latin1')));
  const ending = fc.constantFrom('\n', '\r\n', '\n \t\n\n');
  let runs = 0;

  test('are recorded or repeated line by line, and each text that is no event can be read back', async () => {
    const lines = fc.array(fc.tuple(line, ending), { maxLength: 30 });
    await check(lines, async (sent) => {
      // Neither an array nor one object begins so.
      const whole = [Buffer.from('first line'), ...sent.map(([bytes]) => bytes)];
      const body = Buffer.concat([
        Buffer.from('first line\n'),
        ...sent.flatMap(([bytes, end]) => [bytes, Buffer.from(end)]),
      ]);
      await expectKept(whole, body);
    });
  }, 300_000);

  test('are the items of an array, if they are JSON', async () => {
    const space = fc.constantFrom('', ' ', '\n', ' \r\n\t');
    await check(fc.array(fc.tuple(fc.json(), space), { maxLength: 30 }), async (items) => {
      const body = `[${items.map(([json, around]) => around + json + around).join(',')}]`;
      await expectKept(
        items.map(([json]) => Buffer.from(json)),
        Buffer.from(body),
      );
    });
  }, 300_000);

  async function check<Value>(values: fc.Arbitrary<Value>, holds: (value: Value) => Promise<void>): Promise<void> {
    await fc.assert(fc.asyncProperty(values, holds), { numRuns: scaled(50, 2_000) });
  }

  async function expectKept(lines: readonly Buffer[], body: Buffer): Promise<void> {
    runs += 1;
    const context = `any-${runs}`;
    const sending = { context, headers: { 'idempotency-key': `${runs}` } };
    const { status, body: result } = await ingest(org, body, sending);
    expect([status, result.lines, result.recorded + (result.repeated ?? Number.NaN)]).toEqual([
      200,
      lines.length,
      lines.length,
    ]);
    const events = await eventsOf(context);
    expect(events).toHaveLength(result.recorded);
    const kept = events
      .filter(({ resource }) => resource.type === 'unmapped')
      .map((event) => rawOf([event]).toString('hex'));
    expect(kept).toHaveLength(result.unmapped);
    const sent = lines.map((bytes) => bytes.toString('hex'));
    expect(kept.filter((raw) => !sent.includes(raw))).toEqual([]);
    // What is left is ours: an event that was taken as it is.
    const ours = sent.filter((raw) => !kept.includes(raw)).map((raw) => JSON.parse(Buffer.from(raw, 'hex').toString()));
    for (const event of ours) expect(event).toHaveProperty('event' in event ? 'event.resource.id' : 'resource.name');
    const again = await ingest(org, body, sending);
    expect([again.status, again.body.recorded, again.body.repeated]).toEqual([200, 0, lines.length]);
  }
});

function jsonBytes(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

const PACKERS = { gzip: gzipSync, deflate: deflateSync, zstd: zstdCompressSync } as const;
type Encoding = keyof typeof PACKERS;
const ENCODINGS = Object.keys(PACKERS) as Encoding[];

describe('packed bodies', () => {
  test('that are damaged are refused, or read as what they are', async () => {
    const random = randomFor('packed bodies');
    const tally = new Tally();
    let left = scaled(400, 20_000);
    const wrong: string[] = [];
    const worker = async () => {
      while (left > 0) {
        left -= 1;
        const encoding = random.pick(ENCODINGS);
        const { name, bytes } = damaged(random, encoding);
        const { status, body } = await ingest(org, bytes, {
          context: 'fuzz',
          headers: { 'content-encoding': encoding },
          query: '?async=true',
        });
        tally.add(`${name} ${status}`);
        const isSound =
          status === 200 ? body.lines === body.recorded : [400, 413].includes(status) && body.code !== undefined;
        if (!isSound || (status === 200 && encoding === 'gzip' && body.lines !== linesIn(gunzipSync(bytes)))) {
          wrong.push(
            `${encoding}, ${name}: ${status} ${JSON.stringify(body).slice(0, 200)}; sent ${bytes.toString('hex').slice(0, 200)}`,
          );
        }
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    tell(`damaged bodies: ${tally}`);
    expect(wrong).toEqual([]);
  }, 300_000);

  const bombs: [string, Encoding, Buffer, number][] = [
    ['gzip', 'gzip', repeated(gzipSync(Buffer.alloc(16 * MIB)), 64), 413],
    ['deflate', 'deflate', repeated(deflateSync(Buffer.alloc(16 * MIB)), 64), 413],
    ['zstd', 'zstd', repeated(zstdCompressSync(Buffer.alloc(16 * MIB)), 64), 413],
    ['zstd with a window of 128 MiB', 'zstd', wideWindow(), 400],
    ['gzip without content', 'gzip', repeated(gzipSync(''), 100_000), 200],
    ['zstd without content', 'zstd', repeated(zstdCompressSync(''), 100_000), 400],
  ];

  test.each(bombs)('that are bombs are refused, and take no memory: %s', async (_name, encoding, bytes, status) => {
    const answers = Array.from({ length: 8 }, () => ingest(org, bytes, { headers: { 'content-encoding': encoding } }));
    const statuses = new Set((await Promise.all(answers)).map((answer) => answer.status));
    expect([...statuses].filter((one) => one !== status && one !== 429)).toEqual([]);
    expect(statuses).toContain(status);
    expectWithin();
  });

  test('of 20 MiB and 20,000 lines from many clients are served when they come again, within 512 MiB', async () => {
    const fill = 'x'.repeat(960);
    const lines = Array.from({ length: 20_000 }, (_, n) => `{"resource":{"name":"r${n}","data":{"fill":"${fill}"}}}`);
    const body = gzipSync(lines.join('\n'), { level: 1 });
    await patientClients(async () => {
      const { status, headers, body: result } = await ingest(org, body, { headers: { 'content-encoding': 'gzip' } });
      if (status === 200) expect(result.recorded).toBe(20_000);
      return { status, headers };
    });
  }, 600_000);

  test('of 20,000 log records in OTLP from many clients are served when they come again, within 512 MiB', async () => {
    const fill = { stringValue: 'x'.repeat(960) };
    const records = Array.from({ length: 20_000 }, (_, n) => ({ body: fill, attributes: attributes({ n }) }));
    const body = gzipSync(encodeRequest(requestOf(records)), { level: 1 });
    const url = `${org.api.url}/otlp/org/acme/auditctx/otlp/v1/logs`;
    const own = { authorization: `Bearer ${org.key}`, 'content-type': 'application/x-protobuf' };
    await patientClients(async () => {
      const response = await fetch(url, { method: 'POST', body, headers: { ...own, 'content-encoding': 'gzip' } });
      await response.arrayBuffer();
      return response;
    });
  }, 600_000);
});

/** Clients that send at the same time, and again as `Retry-After` asks. */
async function patientClients(send: () => Promise<{ readonly status: number; readonly headers: Headers }>) {
  const tally = new Tally();
  const random = randomFor('patient clients');
  const client = async () => {
    for (let round = 0; round < scaled(1, 10); ) {
      const { status, headers } = await send();
      tally.add(`${status}${headers.has('retry-after') ? ' with Retry-After' : ''}`);
      if (status === 200) round += 1;
      else await delay(Number(headers.get('retry-after')) * 1_000 * (0.5 + random()));
    }
  };
  await Promise.all(Array.from({ length: FULL ? 24 : 3 }, client));
  tell(`requests of 20 MiB: ${tally}; at most ${mostResident()} MiB resident`);
  expect(tally.of('200') + tally.of('429 with Retry-After')).toBe(tally.total);
  expectWithin();
}

function damaged(random: Random, encoding: Encoding): { name: string; bytes: Buffer } {
  const pack = (text: string) => PACKERS[encoding](text);
  const packed = pack(Array.from({ length: random.whole(0, 50) }, (_, n) => `{"n":${n},"x":"${random()}"}`).join('\n'));
  const at = random.whole(0, Math.max(0, packed.length - 1));
  switch (random.whole(0, 6)) {
    case 0: {
      const bytes = Buffer.from(packed);
      bytes[at] = random.whole(0, 255);
      return { name: 'a byte changed', bytes };
    }
    case 1:
      return { name: 'cut off', bytes: packed.subarray(0, at) };
    case 2:
      return { name: 'two frames', bytes: Buffer.concat([packed, pack('\nlast')]) };
    case 3:
      return { name: 'more behind', bytes: Buffer.concat([packed, random.bytes(random.whole(1, 40))]) };
    case 4:
      return {
        name: 'bytes inserted',
        bytes: Buffer.concat([packed.subarray(0, at), random.bytes(3), packed.subarray(at)]),
      };
    case 5:
      return { name: 'any bytes', bytes: random.bytes(random.whole(1, 200)) };
    default:
      return { name: 'packed otherwise', bytes: PACKERS[random.pick(ENCODINGS)]('a\nb') };
  }
}

function linesIn(bytes: Buffer): number {
  return bytes
    .toString('latin1')
    .split('\n')
    .filter((line) => /[^ \t\r]/.test(line)).length;
}

function repeated(frame: Buffer, times: number): Buffer {
  return Buffer.concat(Array(times).fill(frame));
}

/** A frame whose decoder needs more memory than is allowed for HTTP. */
function wideWindow(): Buffer {
  const params = { [constants.ZSTD_c_contentSizeFlag]: 0 };
  const frame = zstdCompressSync(Buffer.alloc(2 * MIB, 'x'), { params });
  // RFC 8878: behind the magic number and the descriptor of the frame, 2 to the power of 10 and this many.
  frame[5] = 17 << 3;
  return frame;
}

function mostResident(): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Math.round(Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024);
}

/** Only Linux tells what another process has. */
function expectWithin(): void {
  if (process.platform === 'linux') expect(mostResident()).toBeLessThan(MOST_RESIDENT_MIB);
}

test('what was acknowledged is there once, though the service is killed again and again and batches are sent again', async () => {
  const random = randomFor('kills');
  const kills = scaled(2, 30);
  const acknowledged: string[] = [];
  let batch = 0;
  let isDone = false;
  const writer = async () => {
    while (!isDone) {
      batch += 1;
      const lines = Array.from({ length: 300 }, (_, n) => `${batch}/${n}${n % 2 ? ' plain' : ''}`);
      const body = lines.map((line, n) => (n % 2 ? line : JSON.stringify({ resource: { name: line } }))).join('\n');
      const sending = { context: 'kills', headers: { 'idempotency-key': `batch-${batch}` } };
      for (let status = 0; status !== 200; ) {
        status = await ingest(org, body, sending).then(
          (sent) => sent.status,
          () => delay(50, 0),
        );
      }
      acknowledged.push(...lines);
    }
  };
  const writers = Array.from({ length: 3 }, writer);
  for (let kill = 0; kill < kills; kill += 1) {
    await delay(random.whole(50, 400) * PATIENCE);
    await child.end('SIGKILL');
    await start(org.key);
  }
  isDone = true;
  await Promise.all(writers);
  const found = new Tally();
  for (const event of await eventsOf('kills')) {
    found.add(event.resource.type === 'unmapped' ? rawOf([event]).toString() : String(event.resource.name));
  }
  tell(`${kills} kills: ${acknowledged.length} lines acknowledged`);
  expect(acknowledged.filter((line) => found.of(line) !== 1)).toEqual([]);
  expect(found.counts.size).toBe(acknowledged.length);
}, 600_000);
