import { DatabaseSync } from 'node:sqlite';
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
  type LogVerdict,
  makeStores,
  modelAnswers,
  type Questions,
  Scratch,
  type Stored,
  withFlip,
} from './stores.js';

/**
 * What a damaged file may do. Every record carries a checksum and offsets are dense, so an altered record, and one that
 * is missing between two others, is always noticed. A cut or damaged end of the WAL looks like a commit that a crash
 * interrupted: it takes the last commits away as if they had never been. Only the read model, which has seen them, can
 * tell, and then the service does not start.
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
function logFiles(stored: Stored, damaged: string, bytes: Uint8Array): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  for (const file of ['log.db', 'log.db-wal']) {
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
  allowed: (verdict: LogVerdict) => boolean,
): Promise<string[]> {
  const tally = new Tally();
  const broken: string[] = [];
  for (const { place, bytes } of damages) {
    scratch.put(logFiles(stored, file, bytes));
    const verdict = await judgeLog(scratch, stored.records);
    tally.add(verdict.outcome);
    if (allowed(verdict)) continue;
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

const PAGE = 4096;
/** A leaf's header and the pointers to its first cells; an interior page's header has four bytes more. */
const HEADER_AND_POINTERS = 20;

function bitsOf(from: number, bytes: number): number[] {
  return Array.from({ length: bytes * 8 }, (_, bit) => from * 8 + bit);
}

function* flipsAt(bytes: Buffer, bits: readonly number[]): Generator<Damage> {
  for (const bit of bits) {
    yield { place: `bit ${bit & 7} of byte ${bit >> 3}`, bytes: withFlip(bytes, bit) };
  }
}

/** The pages, counted from 0, that lead from a table's root to its last records (sqlite.org/fileformat.html). */
function lastPages(bytes: Buffer, table: string): number[] {
  scratch.put(new Map([['log.db', bytes]]));
  const db = new DatabaseSync(scratch.log);
  const root = db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(table)?.rootpage;
  db.close();
  const pages = [Number(root) - 1];
  for (let at = pages[0] ?? 0; bytes[at * PAGE] === 0x05; pages.push(at)) at = bytes.readUInt32BE(at * PAGE + 8) - 1;
  return pages;
}

/** From the start of the page's cell that holds the text to the end of the text. */
function recordWith(bytes: Buffer, text: string): [number, number] {
  const at = bytes.indexOf(text);
  const page = Math.floor(at / PAGE) * PAGE;
  const cells = Array.from(
    { length: bytes.readUInt16BE(page + 3) },
    (_, n) => page + bytes.readUInt16BE(page + 8 + 2 * n),
  );
  const start = Math.max(...cells.filter((cell) => cell < at));
  if (at < 0 || bytes[page] !== 0x0d || !Number.isFinite(start)) throw new Error(`no record on one page has ${text}`);
  return [start, at + text.length];
}

test('the stores to be damaged are real: several topics, a dead letter, and publishes in the WAL alone', async () => {
  expect(stopped.records['audit']?.length).toBeGreaterThan(300);
  // The organizations, and the first uses of their keys.
  expect(stopped.records['control']?.length).toBeGreaterThanOrEqual(6);
  expect(stopped.records['audit.dead']).toHaveLength(1);
  expect([...stopped.files.keys()]).toEqual(['log.db', 'read-model.db', 'root.key']);
  expect(cutOff.records['audit']?.length).toBe((stopped.records['audit']?.length ?? 0) + 61);
  expect(fileOf(cutOff, 'log.db-wal').length).toBeGreaterThan(100_000);
});

describe('a stopped log', () => {
  test(
    'that is cut within its last page is refused, or served whole',
    async () => {
      const bytes = fileOf(stopped, 'log.db');
      expect(await tryAll('log.db cut', stopped, 'log.db', truncations(bytes, 'cut log'), isSafe)).toEqual([]);
    },
    LONG,
  );

  test(
    'in which one bit is flipped anywhere never gives out an altered record, and loses none silently',
    async () => {
      const flips = randomFlips(fileOf(stopped, 'log.db'), 'flip log', scaled(500, 5_000));
      expect(await tryAll('log.db, one bit', stopped, 'log.db', flips, isSafe)).toEqual([]);
    },
    LONG,
  );

  test(
    'in whose first page one bit is flipped loses no table silently',
    async () => {
      const bytes = fileOf(stopped, 'log.db');
      const random = randomFor('flip schema');
      const bits = Array.from({ length: scaled(400, 20_000) }, () => random.whole(0, 4096 * 8 - 1));
      expect(await tryAll('log.db, first page', stopped, 'log.db', flipsAt(bytes, bits), isSafe)).toEqual([]);
    },
    LONG,
  );

  test.each(['audit_0', 'control_0', 'audit_dead_0'])(
    'loses no record at the end of %s silently when one bit of its last page is flipped',
    async (table) => {
      const bytes = fileOf(stopped, 'log.db');
      const bits = lastPages(bytes, table).flatMap((page) => bitsOf(page * PAGE, HEADER_AND_POINTERS));
      expect(await tryAll(`${table}, last page`, stopped, 'log.db', flipsAt(bytes, bits), isSafe)).toEqual([]);
    },
    LONG,
  );

  test(
    'names the file and the record whichever bit of a record is flipped',
    async () => {
      const bytes = fileOf(stopped, 'log.db');
      const [from, to] = recordWith(bytes, '"requestId":"request-151"');
      // The lengths and types stand first; of the text after them, every bit only in a full run.
      const bits = bitsOf(from, to - from).filter((_, index) => index < 25 * 8 || index % (FULL ? 1 : 16) === 0);
      expect(await tryAll('log.db, one record', stopped, 'log.db', flipsAt(bytes, bits), isSafe)).toEqual([]);
    },
    LONG,
  );
});

describe('a log that was cut off, its last publishes in the WAL', () => {
  test(
    'loses at most the last commit when the end of the WAL is cut',
    async () => {
      const bytes = fileOf(cutOff, 'log.db-wal');
      const onlyLast = (verdict: LogVerdict) =>
        isSafe(verdict) || (isSafeOrShorter(verdict) && JSON.stringify(verdict.missing) === '{"audit":1}');
      expect(await tryAll('WAL cut', cutOff, 'log.db-wal', truncations(bytes, 'cut wal'), onlyLast)).toEqual([]);
    },
    LONG,
  );

  test(
    'is served up to the damage, and nothing altered, when one bit of the WAL is flipped',
    async () => {
      const flips = randomFlips(fileOf(cutOff, 'log.db-wal'), 'flip wal', scaled(500, 5_000));
      expect(await tryAll('WAL, one bit', cutOff, 'log.db-wal', flips, isSafeOrShorter)).toEqual([]);
    },
    LONG,
  );

  test(
    'never gives out an altered record when one bit of the main file is flipped',
    async () => {
      const flips = randomFlips(fileOf(cutOff, 'log.db'), 'flip main', scaled(300, 3_000));
      expect(await tryAll('log.db under a WAL, one bit', cutOff, 'log.db', flips, isSafe)).toEqual([]);
    },
    LONG,
  );

  test(
    'stops the start, naming the place, whenever the WAL lost what had been indexed',
    async () => {
      const bytes = fileOf(cutOff, 'log.db-wal');
      const random = randomFor('ahead');
      const tally = new Tally();
      for (let n = 0; n < scaled(30, 300); n += 1) {
        const length = random.whole(0, bytes.length - 1);
        scratch.put(new Map([...cutOff.files, ['log.db-wal', bytes.subarray(0, length)]]));
        tally.add(await refusedAtStart());
      }
      tell(`a shortened WAL and the read model: ${tally}`);
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
    '%s refuses to start, naming the file, or fails what it cannot read, and answers the rest as before',
    async (_name, keepModel) => {
      const random = randomFor(`service ${keepModel}`);
      const bytes = fileOf(stopped, 'log.db');
      const whole = new Map([...stopped.files].filter(([file]) => keepModel || !file.startsWith('read-model')));
      scratch.put(whole);
      const before = await serviceAnswers();
      expect(before).toContain('"kind":"queryresult"');
      const tally = new Tally();
      const broken: string[] = [];
      for (let n = 0; n < scaled(12, 150); n += 1) {
        const bit = random.whole(0, bytes.length * 8 - 1);
        scratch.put(new Map([...whole, ['log.db', withFlip(bytes, bit)]]));
        const answers = await serviceAnswers();
        const outcome = outcomeOf(answers, before, keepModel);
        tally.add(outcome);
        if (outcome === 'other' || (outcome === 'refused' && !answers.includes(scratch.log))) {
          broken.push(`bit ${bit}: ${answers.slice(0, 300)}`);
        }
      }
      tell(`a service ${_name}: ${tally}`);
      expect(broken).toEqual([]);
    },
    LONG,
  );
});

/** With its read model a service starts without reading all records; a read of a damaged one fails. */
function outcomeOf(answers: string, before: string, mayFail: boolean): string {
  if (answers === before) return 'answers as before';
  if (answers.startsWith('refused')) return 'refused';
  const whole = before.split('\n');
  const isSafe = answers
    .split('\n')
    .every((line, at) => line === whole[at] || (mayFail && /^500 .*"code":"internal"/.test(line)));
  return isSafe ? 'fails what it cannot read' : 'other';
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
