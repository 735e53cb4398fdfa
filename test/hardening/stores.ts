import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedEventLog } from '../../src/event-log/embedded/event-log.js';
import {
  CorruptRecord,
  type EventLog,
  type LogRecord,
  PositionOutOfRange,
  type Topic,
  UnreadableRecord,
} from '../../src/event-log/event-log.js';
import { StoreUnusable } from '../../src/platform/store-unusable.js';
import type { EmbeddedReadModel } from '../../src/read-model/embedded/read-model.js';
import type { KindName } from '../../src/read-model/kinds.js';
import type { SearchQuery } from '../../src/read-model/search.js';
import { Api, Org, type OrgBody } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';

const TOPICS: readonly Topic[] = ['audit', 'control', 'audit.dead'];
const ORGS = 6;
const BULKS = 6;
const BULK_ITEMS = 50;

/** What is on the disk, and what must be answered from it. */
export interface Stored {
  /** By file name. */
  readonly files: ReadonlyMap<string, Buffer>;
  readonly records: RecordTexts;
  readonly logId: string;
  readonly orgs: readonly { readonly name: string; readonly key: string }[];
}

/** Each record as one text that stands for all of it, by topic, in order. */
export type RecordTexts = Readonly<Record<string, readonly string[]>>;

/** Derived: where the records are in `log.records`. */
export const PLACES = [
  ...['log.audit_0.places', 'log.control_0.places', 'log.audit_dead_0.places'],
  'log.checkpoints_0.places',
] as const;
export const LOG_FILES = ['log.db', 'log.db-wal', 'log.records', ...PLACES] as const;
/** Where the log notes its end. */
const NOTES = ['log.db', 'log.db-wal'] as const;
const FILES = [...LOG_FILES, 'read-model.db', 'read-model.db-wal', 'root.key'] as const;

/**
 * Two folders of the same history, made by the service: one of a service that stopped, one of a service that was cut
 * off with its last publishes in the WAL alone.
 */
export async function makeStores(): Promise<{ stopped: Stored; cutOff: Stored }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'control-stores-'));
  const snapshot = mkdtempSync(join(tmpdir(), 'control-cut-off-'));
  try {
    await appendUnreadable(dataDir);
    const orgs = await served(dataDir, async (service) => {
      const made = await makeOrgs(service);
      await publishSome(service, made);
      return made;
    });
    const stopped = await storedOf(dataDir, orgs);
    await served(dataDir, async (service) => {
      const noted = NOTES.map((name) => [name, readFileSync(join(dataDir, name))] as const);
      await publishMore(service, orgs);
      // Everything was answered, so nothing is being written: this is what a kill would leave.
      copyFiles(dataDir, snapshot);
      // The end is noted every second: this is one that was killed before.
      for (const [name, bytes] of noted) writeFileSync(join(snapshot, name), bytes);
    });
    // It commits seldom: this is one that had committed just before.
    copyFileSync(join(dataDir, 'read-model.db'), join(snapshot, 'read-model.db'));
    rmSync(join(snapshot, 'read-model.db-wal'), { force: true });
    return { stopped, cutOff: await storedOf(snapshot, orgs) };
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
    rmSync(snapshot, { recursive: true, force: true });
  }
}

async function served<Result>(dataDir: string, work: (service: TestService) => Promise<Result>): Promise<Result> {
  const service = await startService({ dataDir });
  try {
    return await work(service);
  } finally {
    await service.stop();
  }
}

/** A record that no service of this version makes; it becomes a dead letter. */
async function appendUnreadable(dataDir: string): Promise<void> {
  const log = await EmbeddedEventLog.open({ file: join(dataDir, 'log.db') });
  await log.append([{ topic: 'audit', key: 'unreadable', headers: { v: '1' }, value: Buffer.from('not an event') }]);
  await log.close();
}

async function makeOrgs(service: TestService): Promise<Stored['orgs']> {
  const root = new Api(service.url, service.rootKey);
  const orgs: { name: string; key: string }[] = [];
  for (let n = 1; n <= ORGS; n += 1) {
    const name = `org-${n}`;
    const tags = { team: `team ${n}`, größe: 'ü'.repeat(n * 20) };
    const { body } = await root.post<OrgBody>('/org', { name, description: `the org number ${n}`, tags });
    orgs.push({ name, key: body.key });
  }
  return orgs;
}

async function publishSome(service: TestService, orgs: Stored['orgs']): Promise<void> {
  for (const [at, { name, key }] of orgs.entries()) {
    const org = new Org(service.url, name, key);
    await expectStatus(org.publish(variedEvent(at), { idempotencyKey: `key ${at}` }), 201);
    await expectStatus(org.publish(variedEvent(at), { idempotencyKey: `key ${at}` }), 201);
    await expectStatus(org.publish({ resource: { name: 'exact', data: { n: 1 } } }, { context: 'other' }), 201);
  }
  for (let bulk = 0; bulk < BULKS; bulk += 1) {
    const { name, key } = orgs[bulk % orgs.length] ?? { name: '', key: '' };
    const items = Array.from({ length: BULK_ITEMS }, (_, n) => variedEvent(bulk * BULK_ITEMS + n));
    const { body, text } = await new Org(service.url, name, key).bulk(items, { context: `ctx-${bulk % 3}` });
    if (body.succeeded !== BULK_ITEMS) throw new Error(text);
  }
}

async function publishMore(service: TestService, orgs: Stored['orgs']): Promise<void> {
  for (let n = 0; n < 60; n += 1) {
    const { name, key } = orgs[n % orgs.length] ?? { name: '', key: '' };
    await expectStatus(
      new Org(service.url, name, key).publish(variedEvent(1_000 + n), { async: n % 3 === 0 }),
      201,
      202,
    );
  }
  const root = new Api(service.url, service.rootKey);
  await expectStatus(root.post('/org', { name: 'org-late' }), 201);
  // Everything before a sync publish is in the read model when it is answered.
  const last = orgs[0] ?? { name: '', key: '' };
  await expectStatus(new Org(service.url, last.name, last.key).publish({ resource: { name: 'the last one' } }), 201);
}

async function expectStatus(answer: Promise<{ status: number; text: string }>, ...statuses: number[]): Promise<void> {
  const { status, text } = await answer;
  if (!statuses.includes(status)) throw new Error(`answered ${status}: ${text}`);
}

/** Of many sizes, so that some share a page and some need pages of their own. */
function variedEvent(n: number): Record<string, unknown> {
  const fill = n % 29 === 0 ? 'x'.repeat(9_000) : n % 7 === 0 ? 'äöü€😀'.repeat(40) : `fill ${n}`;
  return {
    resource: { id: `id-${n}`, name: `name ${n % 17}`, type: n % 2 ? 'workload' : 'gvc', data: { n, fill } },
    eventTime: new Date(Date.UTC(2021, n % 12, 1 + (n % 28), n % 24)).toISOString(),
    requestId: `request-${n}`,
    context: { location: `loc-${n % 3}`, gvcAlias: `gvc-${n % 5}`, podId: `pod-${n % 4}`, remoteIp: '192.0.2.1' },
    subject: { email: `person-${n % 9}@example.com`, claims: { roles: ['a', n] } },
    action: { type: n % 4 ? 'edit' : 'create', data: { before: null, after: { n } } },
    result: { status: n % 5 ? 'OK' : 'DENIED', message: 'ok' },
  };
}

function copyFiles(from: string, to: string): void {
  for (const file of FILES) if (existsSync(join(from, file))) copyFileSync(join(from, file), join(to, file));
}

/** Reads the files first: opening them changes them. */
async function storedOf(dataDir: string, orgs: Stored['orgs']): Promise<Stored> {
  const files = new Map<string, Buffer>();
  for (const file of FILES) if (existsSync(join(dataDir, file))) files.set(file, readFileSync(join(dataDir, file)));
  const scratch = new Scratch();
  scratch.put(files);
  const log = await EmbeddedEventLog.open({ file: scratch.log });
  const records: Record<string, readonly string[]> = {};
  for (const topic of TOPICS) records[topic] = (await readAll(log, topic)).records.map(textOf);
  await log.close();
  scratch.remove();
  return { files, records, logId: log.id, orgs };
}

/** A folder whose files are replaced again and again. */
export class Scratch {
  readonly folder = mkdtempSync(join(tmpdir(), 'control-damaged-'));
  readonly log = join(this.folder, 'log.db');
  readonly readModel = join(this.folder, 'read-model.db');

  put(files: ReadonlyMap<string, Uint8Array>): void {
    for (const file of readdirSync(this.folder)) rmSync(join(this.folder, file));
    for (const [file, bytes] of files) writeFileSync(join(this.folder, file), bytes);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Every record of the topic that the log gives out, and what ended the reading before its end. */
async function readAll(log: EventLog, topic: Topic): Promise<{ records: LogRecord[]; fault?: unknown }> {
  const records: LogRecord[] = [];
  try {
    const end = (await log.head(topic))[0] ?? 0;
    const stop = new AbortController();
    if (end === 0) stop.abort();
    for await (const batch of log.read(topic, {}, stop.signal)) {
      records.push(...batch.records);
      if (batch.next >= end) stop.abort();
    }
    return { records };
  } catch (fault) {
    return { records, fault };
  }
}

function textOf({ topic, partition, offset, time, key, headers, value }: LogRecord): string {
  return JSON.stringify([topic, partition, offset, time, key, headers, Buffer.from(value).toString('latin1')]);
}

/** The bytes with one bit changed. */
export function withFlip(bytes: Buffer, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return copy;
}

/** What a start and a full read made of a log; only the first three keep every promise. */
type LogOutcome =
  | 'whole'
  | 'refused at start'
  | 'refused at the damaged record'
  | 'records missing without a word'
  | 'altered'
  | 'failed without naming the file';

export interface LogVerdict {
  readonly outcome: LogOutcome;
  /** Records missing at the end, by topic. */
  readonly missing: Readonly<Record<string, number>>;
  readonly fault?: unknown;
}

const NAMED = [StoreUnusable, CorruptRecord, UnreadableRecord, PositionOutOfRange];

/** Opens the log of the folder and reads all of it. */
export async function judgeLog(scratch: Scratch, expected: RecordTexts): Promise<LogVerdict> {
  const told = (fault: unknown) =>
    NAMED.some((kind) => fault instanceof kind) && (fault as Error).message.includes(join(scratch.folder, 'log.'));
  let log: EmbeddedEventLog;
  try {
    log = await EmbeddedEventLog.open({ file: scratch.log });
  } catch (fault) {
    return { outcome: told(fault) ? 'refused at start' : 'failed without naming the file', missing: {}, fault };
  }
  const missing: Record<string, number> = {};
  let outcome: LogOutcome = 'whole';
  let firstFault: unknown;
  for (const topic of TOPICS) {
    const { records, fault } = await readAll(log, topic);
    const wanted = expected[topic] ?? [];
    const altered = records.some((record, index) => textOf(record) !== wanted[index]);
    if (altered) outcome = 'altered';
    else if (fault !== undefined) {
      firstFault ??= fault;
      if (outcome !== 'altered')
        outcome = told(fault) ? worst(outcome, 'refused at the damaged record') : 'failed without naming the file';
    } else if (records.length < wanted.length) {
      missing[topic] = wanted.length - records.length;
      outcome = worst(outcome, 'records missing without a word');
    }
  }
  await log.close().catch(() => undefined);
  return { outcome, missing, ...(firstFault !== undefined && { fault: firstFault }) };
}

/** One damage may do several things; what was said aloud makes up for what was not. */
function worst(one: LogOutcome, other: LogOutcome): LogOutcome {
  const rank: readonly LogOutcome[] = [
    'whole',
    'records missing without a word',
    'refused at the damaged record',
    'failed without naming the file',
    'altered',
  ];
  return rank.indexOf(one) > rank.indexOf(other) ? one : other;
}

/** What a read model answers about what is stored, by the question; a question that fails has no answer. */
export async function modelAnswers(
  model: EmbeddedReadModel,
  stored: Questions,
  failed: (error: unknown) => void = (error) => {
    throw error;
  },
): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  const ask = async (question: string, answer: () => Promise<string>) => {
    try {
      answers.set(question, await answer());
    } catch (error) {
      failed(error);
    }
  };
  for (const { name: org } of stored.orgs) {
    for (const [list, query] of listsOf(org)) await ask(`${org}: ${list}`, () => pages(model, 'auditevent', query));
    await ask(`${org}: counts`, async () => JSON.stringify([...(await model.count('auditevent', org))]));
    for (const kind of ['org', 'serviceaccount'] as const) {
      const order = { field: 'name', direction: 'ascending' } as const;
      await ask(`${org}: ${kind}`, () => pages(model, kind, { org, filters: [], order, limit: 100 }));
    }
  }
  for (const { org, id } of stored.events) {
    await ask(`${org}: event ${id}`, async () => (await model.get('auditevent', org, id))?.source ?? 'not found');
  }
  return answers;
}

async function pages(model: EmbeddedReadModel, kind: KindName, query: SearchQuery): Promise<string> {
  const texts: string[] = [];
  for (let cursor: SearchQuery['cursor']; ; ) {
    const page = await model.search(kind, { ...query, ...(cursor && { cursor }) });
    texts.push(...page.items.map(({ source }) => source));
    if (!page.more) return texts.join('\n');
    cursor = page.cursor;
  }
}

export interface Questions {
  readonly orgs: readonly { readonly name: string }[];
  readonly events: readonly { readonly org: string; readonly id: string }[];
}

function listsOf(org: string): [string, SearchQuery][] {
  const all = { org, filters: [], limit: 100 };
  const newest = { field: 'eventTime', direction: 'descending' } as const;
  return [
    ['received', { ...all, order: 'received' }],
    ['newest', { ...all, order: newest }],
    ['by name', { ...all, order: newest, filters: [{ field: 'resourceName', op: '=', value: 'name 3' }] }],
    ['by id', { ...all, order: newest, filters: [{ field: 'resourceId', op: '=', value: 'id-7' }] }],
    ['by context', { ...all, order: newest, filters: [{ field: 'contextName', op: '=', value: 'ctx-1' }] }],
  ];
}
