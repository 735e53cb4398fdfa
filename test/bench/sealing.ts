import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pino from 'pino';
import { eventJson } from './events.ts';
import { type Options, Rounds, say } from './figures.ts';
import { built } from './server.ts';

const MOST_EVENTS = 300_000;
const APPENDED = 1_000;
const POLL_MS = 5;
const TIME = '2026-03-01T12:00:00.000Z';

export const SEALING_FIGURES = ['sealing-catch-up', 'sealed-bytes'];

type Log = import('../../src/event-log/embedded/event-log.js').EmbeddedEventLog;

/** The sealer on a log that has no trees yet, until all of it is sealed, and what the trees take on the disk. */
export async function measureSealing({ rounds, events: most }: Options): Promise<Rounds> {
  const { EmbeddedEventLog } = await built<typeof import('../../src/event-log/embedded/event-log.js')>(
    'event-log/embedded/event-log.js',
  );
  const folder = mkdtempSync(join(tmpdir(), 'control-bench-sealing-'));
  const log = await EmbeddedEventLog.open({ file: join(folder, 'log.db') });
  const events = Math.min(MOST_EVENTS, most);
  try {
    for (let from = 0; from < events; from += APPENDED) await append(log, from);
    const results = new Rounds();
    // The first warms up.
    for (let round = 0; round <= rounds; round += 1) {
      const { cpu, ms, bytes } = await catchUp(log, join(folder, `tlog-${round}.db`), events);
      const [perCpu, perSecond] = [events / cpu, (events * 1000) / ms].map(Math.round);
      say(`round ${round}: sealed ${perCpu} events a CPU second, ${perSecond} a second, ${bytes / events} bytes each`);
      if (round === 0) continue;
      results.add([
        ['sealing-catch-up', events / cpu],
        ['sealed-bytes', bytes / events],
      ]);
    }
    return results;
  } finally {
    await log.close();
    rmSync(folder, { recursive: true });
  }
}

async function append(log: Log, from: number): Promise<void> {
  const { auditEntry } = await built<typeof import('../../src/event-log/audit-record.js')>('event-log/audit-record.js');
  const entries = Array.from({ length: APPENDED }, (_, at) => {
    const id = `event-${from + at}`;
    const event = JSON.parse(eventJson(from + at, { id, eventTime: TIME, postedTime: TIME, requestId: id }));
    return auditEntry({ ...event, context: { org: 'bench', name: 'default' } });
  });
  await log.append(entries);
}

/** CPU in seconds. */
async function catchUp(log: Log, file: string, events: number): Promise<{ cpu: number; ms: number; bytes: number }> {
  const { EmbeddedTreeStore } = await built<typeof import('../../src/tree-store/embedded/tree-store.js')>(
    'tree-store/embedded/tree-store.js',
  );
  const store = EmbeddedTreeStore.open({ file, log: log.id, onReplaced: () => undefined });
  const sealer = await sealerOf(log, store);
  const stop = new AbortController();
  const [before, start] = [process.cpuUsage(), performance.now()];
  const running = sealer.run(stop.signal);
  while (((await store.progress())?.next['audit/0'] ?? 0) < events) await delay(POLL_MS);
  const [{ user, system }, ms] = [process.cpuUsage(before), performance.now() - start];
  stop.abort();
  await running;
  await store.close();
  return { cpu: (user + system) / 1e6, ms, bytes: statSync(file).size };
}

async function sealerOf(log: Log, store: import('../../src/tree-store/tree-store.js').TreeStore) {
  const { Sealer } = await built<typeof import('../../src/sealing/sealer.js')>('sealing/sealer.js');
  const { SigningKeys } = await built<typeof import('../../src/sealing/signing-keys.js')>('sealing/signing-keys.js');
  const { NoteSigner } = await built<typeof import('../../src/tlog/note.js')>('tlog/note.js');
  const key = NoteSigner.generate('bench');
  return new Sealer({
    log,
    store,
    snapshots: { load: async () => 0 },
    kept: { last: async () => undefined, add: async () => undefined },
    keys: () => new SigningKeys(key),
    clock: { now: () => Date.now() },
    intervalMs: 5_000,
    origin: 'bench.example.com',
    logger: pino({ level: 'silent' }),
  });
}
