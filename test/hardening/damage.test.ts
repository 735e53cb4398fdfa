import { join } from 'node:path';
import { EmbeddedEventLog } from '../../src/event-log/embedded/event-log.js';
import type { Topic } from '../../src/event-log/event-log.js';
import { EmbeddedReadModel } from '../../src/read-model/embedded/read-model.js';
import { Api } from '../support/api.js';
import { randomFor } from '../support/random.js';
import { TEST_SECRETS } from '../support/secrets.js';
import { startService } from '../support/service.js';
import { FULL, scaled, Tally, tell } from './scale.js';
import {
  judgeLog,
  LOG_FILES,
  type LogVerdict,
  makeStores,
  modelAnswers,
  PLACES,
  type Questions,
  Scratch,
  type Stored,
  withFlip,
} from './stores.js';

/**
 * What a damaged file may do. Every record carries a checksum and offsets are dense, so an altered record, and one that
 * is missing between two others, is always noticed. So is a loss at the end: the end is noted when a service stops, and what
 * came later has its places. Without those, a cut end looks like commits that a crash interrupted; then only the read model,
 * which has seen them, can tell, and the service does not start.
 */
/** A full run tries tens of thousands of damages. */
const LONG = 30 * 60_000;

let stopped: Stored;
let cutOff: Stored;
let scratch: Scratch;

beforeAll(async () => {
  ({ stopped, cutOff } = await makeStores());
  scratch = new Scratch();
});
afterAll(() => scratch?.remove());

/** The log without a read model, one of its files replaced. */
function logFiles(
  stored: Stored,
  damaged: string,
  bytes: Uint8Array,
  kept: readonly string[],
): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  for (const file of kept) {
    const whole = file === damaged ? bytes : stored.files.get(file);
    if (whole) files.set(file, whole);
  }
  return files;
}

function fileOf(stored: Stored, file: string): Buffer {
  const bytes = stored.files.get(file);
  if (!bytes) throw new Error(`there is no ${file}`);
  return bytes;
}

interface Damage {
  readonly place: string;
  readonly bytes: Uint8Array;
}

/** Tries every damage; the verdicts that break a promise, worded. */
async function tryAll(
  what: string,
  stored: Stored,
  file: string,
  damages: Iterable<Damage>,
  allowed: (verdict: LogVerdict, bytes: Uint8Array) => boolean,
  kept: readonly string[] = LOG_FILES,
): Promise<string[]> {
  const tally = new Tally();
  const broken: string[] = [];
  for (const { place, bytes } of damages) {
    scratch.put(logFiles(stored, file, bytes, kept));
    const verdict = await judgeLog(scratch, stored.records);
    tally.add(verdict.outcome);
    if (allowed(verdict, bytes)) continue;
    const missing = JSON.stringify(verdict.missing);
    broken.push(`${place}: ${verdict.outcome} ${missing} ${(verdict.fault as Error | undefined)?.stack ?? ''}`);
  }
  tell(`${what}: ${tally}`);
  expect(tally.total).toBeGreaterThan(0);
  return broken;
}

const SAFE: readonly string[] = ['whole', 'refused at start', 'refused at the damaged record'];
const isSafe = ({ outcome }: LogVerdict) => SAFE.includes(outcome);
/** Of a WAL, an end may be gone; nothing else may. */
const isSafeOrShorter = (verdict: LogVerdict) =>
  isSafe(verdict) || verdict.outcome === 'records missing without a word';

/** Lengths within the last 4,096 bytes: all of them in a full run, else those at the edges and some between. */
function lengths(size: number, purpose: string): number[] {
  const all = Array.from({ length: Math.min(4096, size) }, (_, cut) => size - 1 - cut);
  const wanted = scaled(300, all.length);
  if (wanted >= all.length) return all;
  const random = randomFor(purpose);
  const edges = [...all.slice(0, 32), ...all.slice(-32)];
  const others = Array.from({ length: Math.max(0, wanted - edges.length) }, () => random.pick(all));
  return [...new Set([...edges, ...others])];
}

function* truncations(bytes: Buffer, purpose: string): Generator<Damage> {
  for (const length of lengths(bytes.length, purpose)) {
    yield { place: `cut to ${length} of ${bytes.length} bytes`, bytes: bytes.subarray(0, length) };
  }
}

function* randomFlips(bytes: Buffer, purpose: string, count: number): Generator<Damage> {
  const random = randomFor(purpose);
  for (let n = 0; n < count; n += 1) {
    const bit = random.whole(0, bytes.length * 8 - 1);
    yield { place: `bit ${bit & 7} of byte ${bit >> 3}`, bytes: withFlip(bytes, bit) };
  }
}

/** Everything before a record's key: its checksum, sizes, partition, offset and time. */
const RECORD_HEAD = 30;

function bitsOf(from: number, bytes: number): number[] {
  return Array.from({ length: bytes * 8 }, (_, bit) => from * 8 + bit);
}

function* flipsAt(bytes: Buffer, bits: readonly number[]): Generator<Damage> {
  for (const bit of bits) {
    yield { place: `bit ${bit & 7} of byte ${bit >> 3}`, bytes: withFlip(bytes, bit) };
  }
}

interface Place {
  readonly start: number;
  readonly end: number;
}

/** Where the records of a partition are in `log.records`. */
function placesOf(stored: Stored, table: string): Place[] {
  const places = fileOf(stored, `log.${table}.places`);
  return Array.from({ length: places.length / 12 }, (_, n) => {
    const start = places.readUIntLE(n * 12, 6);
    return { start, end: start + places.readUInt32LE(n * 12 + 6) };
  });
}

const TABLES = [
  ['audit', 'audit_0'],
  ['control', 'control_0'],
  ['audit.dead', 'audit_dead_0'],
  ['checkpoints', 'checkpoints_0'],
] as const;

test('the stores to be damaged are real: several topics, a dead letter, and publishes after the noted end', async () => {
  expect(stopped.records['audit']?.length).toBeGreaterThan(300);
  // The organizations, and the first uses of their keys.
  expect(stopped.records['control']?.length).toBeGreaterThanOrEqual(6);
  expect(stopped.records['audit.dead']).toHaveLength(1);
  expect([...stopped.files.keys()]).toEqual(['log.db', 'log.records', ...PLACES, 'read-model.db', 'root.key']);
  expect(cutOff.records['audit']?.length).toBe((stopped.records['audit']?.length ?? 0) + 61);
  expect(fileOf(cutOff, 'log.records').length).toBeGreaterThan(fileOf(stopped, 'log.records').length + 30_000);
});

describe('a stopped log', () => {
  test(
    'that is cut within its last 4,096 bytes is refused',
    async () => {
      const bytes = fileOf(stopped, 'log.records');
      const damages = truncations(bytes, 'cut log');
      expect(await tryAll('log.records cut', stopped, 'log.records', damages, isSafe)).toEqual([]);
    },
    LONG,
  );

  test.each([
    ['log.records', scaled(500, 5_000)],
    ['log.db', scaled(300, 3_000)],
    ['log.audit_0.places', scaled(300, 3_000)],
    ['log.control_0.places', scaled(100, 1_000)],
  ])(
    'in whose %s one bit is flipped anywhere never gives out an altered record, and loses none silently',
    async (file, count) => {
      const flips = randomFlips(fileOf(stopped, file), `flip ${file}`, count);
      expect(await tryAll(`${file}, one bit`, stopped, file, flips, isSafe)).toEqual([]);
    },
    LONG,
  );

  test(
    'is served whole when its places are gone',
    async () => {
      const files = logFiles(stopped, '', Buffer.alloc(0), ['log.db', 'log.records']);
      scratch.put(files);
      expect(await judgeLog(scratch, stopped.records)).toMatchObject({ outcome: 'whole' });
    },
    LONG,
  );

  test(
    'in whose first bytes one bit is flipped loses no record silently',
    async () => {
      const random = randomFor('flip schema');
      for (const [file, first] of [
        ['log.db', 4096],
        ['log.records', placesOf(stopped, 'audit_0')[0]?.start ?? 0],
      ] as const) {
        const bytes = fileOf(stopped, file);
        const bits = Array.from({ length: scaled(400, 20_000) }, () => random.whole(0, first * 8 - 1));
        expect(await tryAll(`${file}, its start`, stopped, file, flipsAt(bytes, bits), isSafe)).toEqual([]);
      }
    },
    LONG,
  );

  test.each(TABLES)(
    'loses no record at the end of %s silently when one bit of what leads to its last record is flipped',
    async (_topic, table) => {
      const bytes = fileOf(stopped, 'log.records');
      const { start } = placesOf(stopped, table).at(-1) ?? { start: 0 };
      const flips = flipsAt(bytes, bitsOf(start, RECORD_HEAD));
      expect(await tryAll(`${table}, last record`, stopped, 'log.records', flips, isSafe)).toEqual([]);
    },
    LONG,
  );

  test(
    'names the file and the record whichever bit of a record is flipped',
    async () => {
      const bytes = fileOf(stopped, 'log.records');
      const at = bytes.indexOf('"requestId":"request-151"');
      const { start, end } = placesOf(stopped, 'audit_0').find((place) => place.end > at) ?? { start: 0, end: 0 };
      // The lengths stand first; of the text after them, every bit only in a full run.
      const bits = bitsOf(start, end - start).filter((_, index) => index < 25 * 8 || index % (FULL ? 1 : 16) === 0);
      expect(await tryAll('log.records, one record', stopped, 'log.records', flipsAt(bytes, bits), isSafe)).toEqual([]);
    },
    LONG,
  );
});

describe('a log that was cut off, its last publishes after the noted end', () => {
  const WITHOUT_PLACES = ['log.db', 'log.db-wal', 'log.records'];

  /** Exactly the records that are not whole any more. */
  const isWithoutTheCut = (verdict: LogVerdict, bytes: Uint8Array) => {
    const lost = TABLES.map(([topic, table]) => {
      const gone = placesOf(cutOff, table).filter(({ end }) => end > bytes.length);
      return [topic, gone.length] as const;
    });
    const expected = Object.fromEntries(lost.filter(([, count]) => count > 0));
    return JSON.stringify(verdict.missing) === JSON.stringify(expected);
  };

  test(
    'is refused when its end is cut',
    async () => {
      const bytes = fileOf(cutOff, 'log.records');
      const damages = truncations(bytes, 'cut end');
      expect(await tryAll('end cut', cutOff, 'log.records', damages, isSafe)).toEqual([]);
    },
    LONG,
  );

  test(
    'loses the commits that were cut, and nothing else, when its places are gone too',
    async () => {
      const damages = truncations(fileOf(cutOff, 'log.records'), 'cut end alone');
      const verdicts = tryAll('end cut, no places', cutOff, 'log.records', damages, isWithoutTheCut, WITHOUT_PLACES);
      expect(await verdicts).toEqual([]);
    },
    LONG,
  );

  test.each(['log.records', 'log.db', 'log.db-wal', 'log.audit_0.places'])(
    'never gives out an altered record, and loses none silently, when one bit of %s is flipped',
    async (file) => {
      const flips = randomFlips(fileOf(cutOff, file), `flip end ${file}`, scaled(400, 4_000));
      expect(await tryAll(`cut off: ${file}, one bit`, cutOff, file, flips, isSafe)).toEqual([]);
    },
    LONG,
  );

  test(
    'is served up to the damage, and nothing altered, when one bit of the records is flipped and the places are gone',
    async () => {
      const flips = randomFlips(fileOf(cutOff, 'log.records'), 'flip end alone', scaled(400, 4_000));
      const verdicts = tryAll('one bit, no places', cutOff, 'log.records', flips, isSafeOrShorter, WITHOUT_PLACES);
      expect(await verdicts).toEqual([]);
    },
    LONG,
  );

  test(
    'stops the start, naming the place, whenever it lost what had been indexed',
    async () => {
      const bytes = fileOf(cutOff, 'log.records');
      const kept = [...cutOff.files].filter(([file]) => !file.endsWith('.places'));
      const random = randomFor('ahead');
      const tally = new Tally();
      for (let n = 0; n < scaled(30, 300); n += 1) {
        const length = random.whole(fileOf(stopped, 'log.records').length, bytes.length - 1);
        scratch.put(new Map([...kept, ['log.records', bytes.subarray(0, length)]]));
        tally.add(await refusedAtStart());
      }
      tell(`a shortened log and the read model: ${tally}`);
      expect([...tally.counts.keys()]).toEqual(['the log lost acknowledged records']);
    },
    LONG,
  );
});

/** Why the folder cannot be served. */
async function refusedAtStart(): Promise<string> {
  const log = await EmbeddedEventLog.open({ file: scratch.log });
  try {
    const head = (topic: Topic) => log.head(topic);
    const model = await EmbeddedReadModel.open({ file: scratch.readModel, logId: log.id, records: log, head });
    await model.close();
    return 'served';
  } catch (error) {
    return (error as Error).message.split(':')[0] ?? '';
  } finally {
    await log.close();
  }
}

describe('a service on a damaged log', () => {
  const cases = [
    ['with its read model', true],
    ['without a read model', false],
  ] as const;
  test.each(cases)(
    '%s refuses to start, naming the file, or answers as before; what it cannot read, it says',
    async (_name, keepModel) => {
      const random = randomFor(`service ${keepModel}`);
      const bytes = fileOf(stopped, 'log.records');
      const whole = new Map([...stopped.files].filter(([file]) => keepModel || !file.startsWith('read-model')));
      scratch.put(whole);
      const before = await serviceAnswers();
      expect(before).toContain('"kind":"queryresult"');
      const tally = new Tally();
      const broken: string[] = [];
      for (let n = 0; n < scaled(12, 150); n += 1) {
        const bit = random.whole(0, bytes.length * 8 - 1);
        scratch.put(new Map([...whole, ['log.records', withFlip(bytes, bit)]]));
        const answers = await serviceAnswers();
        const outcome = outcomeOf(answers, before);
        tally.add(outcome);
        if (outcome === 'other' || (outcome === 'refused' && !answers.includes(join(scratch.folder, 'log.records')))) {
          broken.push(`bit ${bit}: ${answers.slice(0, 300)}`);
        }
      }
      tell(`a service ${_name}: ${tally}`);
      expect(broken).toEqual([]);
    },
    LONG,
  );
});

/** The text of an event stands in the log alone: if its record is damaged, the reads of it fail, and no others. */
function outcomeOf(answers: string, before: string): 'answers as before' | 'refused' | 'a read fails' | 'other' {
  if (answers === before) return 'answers as before';
  if (answers.startsWith('refused')) return 'refused';
  const expected = before.split('\n');
  const isKept = answers.split('\n').every((text, at) => text === expected[at] || text.startsWith('500 '));
  return isKept ? 'a read fails' : 'other';
}

/** Everything that the organizations are answered, or the refusal to start. */
async function serviceAnswers(): Promise<string> {
  const started = await startService({ dataDir: scratch.folder, env: TEST_SECRETS }).catch((error: unknown) => ({
    error,
  }));
  if ('error' in started) {
    const { name, message } = started.error as Error;
    return `refused: ${name}: ${message}`;
  }
  try {
    const texts: string[] = [];
    for (const { name, key } of stopped.orgs) {
      const api = new Api(started.url, key);
      for (const path of [
        `/audit/org/${name}?order=received&pageSize=1000`,
        `/audit/org/${name}/auditctx`,
        `/org/${name}`,
      ]) {
        const { status, text } = await api.get(path);
        texts.push(`${status} ${text}`);
      }
    }
    return texts.join('\n');
  } finally {
    await started.stop();
  }
}

describe('a read model in which one bit is flipped', () => {
  /**
   * What is served is never altered and never another organization's. A damaged index can hide an event until the file is
   * made anew; that shows only where the page itself is found out, and is counted here.
   */
  test(
    'is replaced, or fails loudly, and never gives an altered or a foreign event',
    async () => {
      scratch.put(stopped.files);
      const { answers: before, questions } = await wholeAnswers();
      const random = randomFor('flip read model');
      const bytes = fileOf(stopped, 'read-model.db');
      const tally = new Tally();
      const broken: string[] = [];
      for (let n = 0; n < scaled(250, 5_000); n += 1) {
        const bit = random.whole(0, bytes.length * 8 - 1);
        scratch.put(new Map([...stopped.files, ['read-model.db', withFlip(bytes, bit)]]));
        const verdict = await judgeModel(before, questions);
        tally.add(verdict.outcome);
        if (/ANOTHER ORGANIZATION|ALTERED/i.test(verdict.differs ?? '')) broken.push(`bit ${bit}: ${verdict.differs}`);
      }
      tell(`read-model.db, one bit: ${tally}`);
      expect(broken).toEqual([]);
    },
    LONG,
  );
});

async function openModel(): Promise<{
  model: EmbeddedReadModel;
  replaced: string | undefined;
  close(): Promise<void>;
}> {
  const log = await EmbeddedEventLog.open({ file: scratch.log });
  let replaced: string | undefined;
  const model = await EmbeddedReadModel.open({
    file: scratch.readModel,
    logId: log.id,
    records: log,
    head: (topic) => log.head(topic),
    onReplaced: (reason) => {
      replaced = reason;
    },
  }).catch(async (error: unknown) => {
    await log.close();
    throw error;
  });
  const close = async () => {
    await model.close();
    await log.close();
  };
  return { model, replaced, close };
}

async function wholeAnswers(): Promise<{ answers: Map<string, string>; questions: Questions }> {
  const { model, close } = await openModel();
  const { orgs } = stopped;
  const events: { org: string; id: string }[] = [];
  for (const { name: org } of orgs) {
    const page = await model.search('auditevent', { org, filters: [], order: 'received', limit: 1000 });
    events.push(...page.items.map(({ id }) => ({ org, id })));
  }
  const questions = { orgs, events };
  const answers = await modelAnswers(model, questions);
  await close();
  expect(events.length).toBeGreaterThan(300);
  return { answers, questions };
}

async function judgeModel(
  before: ReadonlyMap<string, string>,
  questions: Questions,
): Promise<{
  outcome: 'replaced' | 'refused at start' | 'same answers' | 'a read failed' | 'another answer';
  differs?: string;
}> {
  const opened = await openModel().catch((error: unknown) => ({ error }));
  if ('error' in opened) return { outcome: 'refused at start' };
  try {
    if (opened.replaced !== undefined) return { outcome: 'replaced' };
    let failed = false;
    const after = await modelAnswers(opened.model, questions, () => {
      failed = true;
    });
    const differs = [...after]
      .filter(([question, answer]) => answer !== before.get(question))
      .map(([question]) => question);
    if (differs.length > 0) return { outcome: 'another answer', differs: told(differs, before, after) };
    return { outcome: failed ? 'a read failed' : 'same answers' };
  } finally {
    await opened.close();
  }
}

/** What differs, and how: a text that no question had before was altered, the rest is missing or out of its place. */
function told(
  questions: readonly string[],
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): string {
  const known = new Map<string, Set<string>>();
  const orgOf = (question: string) => question.slice(0, question.indexOf(':'));
  for (const [question, answer] of before) {
    const texts = known.get(orgOf(question)) ?? new Set();
    for (const text of answer.split('\n')) texts.add(text);
    known.set(orgOf(question), texts);
  }
  const kinds = questions.map((question) => {
    const texts = (after.get(question) ?? '').split('\n').filter((text) => text !== '' && text !== 'not found');
    const foreign = texts.filter((text) => !known.get(orgOf(question))?.has(text));
    const elsewhere = foreign.filter((text) => [...known.values()].some((others) => others.has(text)));
    if (elsewhere.length > 0) return `ANOTHER ORGANIZATION'S: ${question}`;
    if (foreign.length > 0) return `ALTERED: ${question}`;
    return `missing, or out of its place: ${question}`;
  });
  return kinds.slice(0, 4).join(', ');
}
