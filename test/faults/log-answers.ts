import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { verifyBackup } from '../../src/event-log/embedded/backup.js';
import { EmbeddedEventLog } from '../../src/event-log/embedded/event-log.js';
import type { EventLog, Offsets, Topic } from '../../src/event-log/event-log.js';
import { Client, itemsText } from './client.js';

/** A log of every format that there was, and what was answered on it. */
export const FIXTURES = ['log-v1', 'log-v2'] as const;

export function fixture(name: string): string {
  return resolve(import.meta.dirname, '../fixtures', name);
}

const TOPICS: readonly Topic[] = ['audit', 'control', 'audit.dead'];

/** What every version answers on the log of the fixture. */
export interface Expected {
  readonly about: string;
  readonly rootKey: string;
  readonly logId: string;
  readonly records: Readonly<Record<string, RecordsOfTopic>>;
  readonly orgs: Readonly<Record<string, OrgAnswers>>;
}

interface RecordsOfTopic {
  readonly head: Offsets;
  /** Stands for every field of every record, in order. */
  readonly sha256: string;
}

export interface OrgAnswers {
  /** Of an organization that exists in this file only. */
  readonly key: string;
  /** Texts as they came, byte for byte. */
  readonly org: string;
  /** How many events each has. */
  readonly contexts: Readonly<Record<string, number>>;
  /** In the order received. */
  readonly events: readonly string[];
}

/** A folder of its own for the log, so that nothing is ever written to the fixture. */
export function copyOfLog(name: string): string {
  const dataDir = mkdtempSync(join(tmpdir(), `control-${name}-`));
  for (const file of readdirSync(fixture(name)).filter((file) => file.startsWith('log.'))) {
    cpSync(join(fixture(name), file), join(dataDir, file));
  }
  return dataDir;
}

export async function orgAnswers(url: string, org: string, key: string): Promise<OrgAnswers> {
  const client = new Client(url, key);
  const events: string[] = [];
  for await (const page of client.pages(`/audit/org/${org}?order=received&pageSize=7`)) {
    const ofPage: string[] = [];
    for (const { id } of page.items) ofPage.push(eventText((await client.get(`/audit/org/${org}/id/${id}`)).text));
    if (ofPage.join(',') !== itemsText(page)) throw new Error(`the list and the events differ: ${page.text}`);
    events.push(...ofPage);
  }
  const [own, contexts] = [await client.get(`/org/${org}`), await client.get(`/audit/org/${org}/auditctx`)];
  const { items } = JSON.parse(contexts.text) as { items: { name: string; count: number }[] };
  const counts = Object.fromEntries(items.map(({ name, count }) => [name, count]));
  return { key, org: own.text, contexts: counts, events };
}

function eventText(envelope: string): string {
  return envelope.slice(envelope.indexOf('"item":') + '"item":'.length, envelope.lastIndexOf(',"query":{'));
}

/** The next offset of each partition. Every record is read and checked, but a log that is not sound throws. */
export async function soundHeads(file: string): Promise<Readonly<Record<string, number>>> {
  const folder = mkdtempSync(join(tmpdir(), 'control-sound-'));
  const log = await EmbeddedEventLog.open({ file });
  try {
    const { heads } = await log.snapshot(join(folder, 'copy'));
    expect((await verifyBackup(join(folder, 'copy'))).noted.heads).toEqual(heads);
    return heads;
  } finally {
    await log.close();
    rmSync(folder, { recursive: true });
  }
}

/** Reads the whole log by the port, and so through every check that it makes. */
export async function recordsOf(file: string): Promise<Pick<Expected, 'logId' | 'records'>> {
  const log = await EmbeddedEventLog.open({ file });
  const records: Record<string, RecordsOfTopic> = {};
  for (const topic of TOPICS) records[topic] = { head: await log.head(topic), sha256: await digest(log, topic) };
  await log.close();
  return { logId: log.id, records };
}

async function digest(log: EventLog, topic: Topic): Promise<string> {
  const sum = createHash('sha256');
  const end = (await log.head(topic))[0] ?? 0;
  const stop = new AbortController();
  if (end === 0) stop.abort();
  for await (const batch of log.read(topic, {}, stop.signal)) {
    for (const { partition, offset, time, key, headers, value } of batch.records) {
      sum.update(`${JSON.stringify([partition, offset, time, key, headers, value.byteLength])}\n`).update(value);
    }
    if (batch.next >= end) stop.abort();
  }
  return sum.digest('hex');
}
