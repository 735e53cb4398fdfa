import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { startService } from '../support/service.js';
import { Client } from './client.js';
import { compiledMain, type Exit, spawnService } from './process.js';

export const ORG = 'acme';
const EVENTS = 300;

/** Of a stopped service, in order. */
export const LOG_FILES: readonly string[] = [
  ...['log.audit_0.places', 'log.audit_dead_0.places', 'log.checkpoints_0.places', 'log.control_0.places'],
  ...['log.db', 'log.records'],
];

/** A stopped service's folder, and what it answered. */
export interface DataFolder {
  readonly dataDir: string;
  readonly log: string;
  readonly records: string;
  readonly readModel: string;
  readonly key: string;
  readonly answers: string;
}

/** Makes a folder with an organization and some events, each large enough to have a few pages of its own. */
export async function filledFolder(): Promise<DataFolder> {
  const service = await startService();
  const acme = await new Client(service.url, service.rootKey).org(ORG);
  const events = Array.from({ length: EVENTS }, (_, n) => eventOf(`event-${n}-end`));
  await acme.publish(`/audit/org/${ORG}/auditctx/app`, eventOf('single'));
  const bulk = await acme.post(`/audit/org/${ORG}/auditctx/app/-bulk`, events);
  if (!bulk.text.includes(`"succeeded":${EVENTS}`)) throw new Error(bulk.text);
  const answers = await answersOf(acme);
  await service.stop();
  return { ...placesOf(service.dataDir), key: acme.key, answers };
}

export function eventOf(marker: string, bytes = 1_000): object {
  return { resource: { name: marker, type: 'thing', data: { marker, fill: 'ö'.repeat(bytes / 2) } } };
}

/** A copy to damage. */
export function copyOf(folder: DataFolder): DataFolder {
  const dataDir = mkdtempSync(join(tmpdir(), 'control-damaged-'));
  cpSync(folder.dataDir, dataDir, { recursive: true });
  return { ...folder, ...placesOf(dataDir) };
}

function placesOf(dataDir: string): Pick<DataFolder, 'dataDir' | 'log' | 'records' | 'readModel'> {
  const [log, records, readModel] = ['log.db', 'log.records', 'read-model.db'].map((name) => join(dataDir, name));
  return { dataDir, log: log ?? '', records: records ?? '', readModel: readModel ?? '' };
}

/** Every list there is, as it came. */
export async function answersOf(client: Client): Promise<string> {
  const texts: string[] = [];
  for (const query of ['?order=received', '?pageSize=100', '?resourceName=single', '/resource/name/event-7-end']) {
    for await (const page of client.pages(`/audit/org/${ORG}${query}`)) texts.push(page.text);
  }
  for (const path of [`/audit/org/${ORG}/auditctx`, `/org/${ORG}`]) texts.push((await client.get(path)).text);
  return texts.join('\n');
}

/** What the service answers on the folder, started anew. */
export async function answersOn(folder: DataFolder): Promise<string> {
  const service = await startService({ dataDir: folder.dataDir });
  try {
    return await answersOf(new Client(service.url, folder.key));
  } finally {
    await service.stop();
  }
}

/** Why the service does not start on the folder; tried in this process, which is quicker than in one of its own. */
export async function refusalOn(folder: DataFolder): Promise<unknown> {
  const started = await startService({ dataDir: folder.dataDir }).catch((error: unknown) => ({ error }));
  if ('error' in started) return started.error;
  await started.stop();
  throw new Error('the service started');
}

/** How a process ends that is started on the folder; it is killed when it does not end by itself. */
export async function startedOn(folder: DataFolder): Promise<Exit> {
  const process = spawnService(compiledMain(), folder.dataDir);
  process.listening.then(
    () => process.end('SIGKILL'),
    () => undefined,
  );
  return process.exit;
}

export function removeReadModel({ readModel }: Pick<DataFolder, 'readModel'>): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(readModel + suffix, { force: true });
}

/** Changes one bit of the text where it stands in the file, as a failing disk does. */
export function flipBit(file: string, text: string): void {
  const bytes = readFileSync(file);
  const at = bytes.indexOf(text);
  if (at < 0) throw new Error(`${file} has no ${text}`);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(file, bytes);
}

/** The bytes of the records of `audit`, in their order, within the file. */
export function auditRecords({ dataDir, records }: Pick<DataFolder, 'dataDir' | 'records'>) {
  const bytes = readFileSync(records);
  const places = readFileSync(join(dataDir, 'log.audit_0.places'));
  const found = Array.from({ length: places.length / 12 }, (_, n) => {
    const at = places.readUIntLE(n * 12, 6);
    return bytes.subarray(at, at + places.readUInt32LE(n * 12 + 6));
  });
  return { bytes, found };
}

export function overwrite(file: string, from: number, to?: number): void {
  const bytes = readFileSync(file);
  bytes.fill(0xa5, from, to ?? bytes.length);
  writeFileSync(file, bytes);
}

export function execute(file: string, sql: string): void {
  const db = new DatabaseSync(file);
  db.exec(sql);
  db.close();
}
