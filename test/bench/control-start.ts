/**
 * How long the service takes to start, and how much memory it then has, by the number of records in `control`. Run after
 * a build: `node test/bench/control-start.ts [records...]`; 10,000, 100,000 and 1,000,000 if not given. The logs are kept
 * in the system's temporary folder for later runs. Prints one JSON line a size. Needs Linux.
 */
import { existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { controlHistory } from './control-history.ts';
import { median, say } from './figures.ts';
import { built, startService } from './server.ts';

const { EmbeddedEventLog } = await built<typeof import('../../src/event-log/embedded/event-log.js')>(
  'event-log/embedded/event-log.js',
);

/** Changes when other records are made. */
const VERSION = 1;
const STARTS = 3;
const AT_ONCE = 1_000;
const SNAPSHOT_MS = 60_000;

interface Start {
  readonly seconds: number;
  readonly cpu: number;
  readonly memory: number;
}

const sizes = process.argv.slice(2).map(Number);
for (const records of sizes.length > 0 ? sizes : [10_000, 100_000, 1_000_000]) {
  const folder = join(tmpdir(), `control-start-${VERSION}-${records}`);
  if (!existsSync(folder)) await make(folder, records);
  const [whole, kept]: [Start[], Start[]] = [[], []];
  for (let run = 0; run < STARTS; run += 1) {
    rmSync(join(folder, 'control.snapshot'), { force: true });
    whole.push(await start(folder, `${records} records`));
    kept.push(await start(folder, `${records} records, from a snapshot`));
  }
  const logMiB = Math.round(statSync(join(folder, 'log.records')).size / 2 ** 20);
  const line = { figure: 'control-start', records, logMiB, whole: medians(whole), fromSnapshot: medians(kept) };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function start(folder: string, about: string): Promise<Start> {
  const began = performance.now();
  const service = await startService(folder);
  const seconds = (performance.now() - began) / 1_000;
  const cpu = (service.cpuMs() ?? 0) / 1_000;
  const memory = service.memory();
  await snapshotIn(folder);
  const all = (service.cpuMs() ?? 0) / 1_000;
  say(
    `${about}: ready in ${seconds.toFixed(1)} s, ${cpu.toFixed(1)} s CPU, with ${memory.toFixed(0)} MiB; with a snapshot after ${all.toFixed(1)} s CPU`,
  );
  await service.stop();
  return { seconds, cpu, memory };
}

/** The service writes one some seconds after a start that had to fold much; a stop may not wait so long for it. */
async function snapshotIn(folder: string): Promise<void> {
  for (const end = performance.now() + SNAPSHOT_MS; performance.now() < end; await delay(100)) {
    if (existsSync(join(folder, 'control.snapshot'))) return;
  }
}

function medians(starts: readonly Start[]): Start {
  const of = (name: keyof Start) => Number(median(starts.map((start) => start[name])).toFixed(1));
  return { seconds: of('seconds'), cpu: of('cpu'), memory: of('memory') };
}

/** The log, and the read model that the first start makes of it. */
async function make(folder: string, records: number): Promise<void> {
  const unfinished = `${folder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { mode: 0o700 });
  let time = 0;
  const log = await EmbeddedEventLog.open({ file: join(unfinished, 'log.db'), clock: { now: () => time } });
  let waiting: Parameters<typeof log.append>[0][number][] = [];
  for (const one of controlHistory(records)) {
    waiting.push(one.entry);
    if (waiting.length < AT_ONCE) continue;
    time = one.time;
    await log.append(waiting);
    waiting = [];
  }
  await log.append(waiting);
  await log.close();
  const began = performance.now();
  await (await startService(unfinished)).stop();
  say(
    `${records} records: the first start made the read model in ${((performance.now() - began) / 1_000).toFixed(0)} s`,
  );
  renameSync(unfinished, folder);
}
