import { join } from 'node:path';
import pino from 'pino';
import { auditEntry } from '../../src/event-log/audit-record.js';
import { EmbeddedEventLog } from '../../src/event-log/embedded/event-log.js';
import type { EventLog, LogEntry } from '../../src/event-log/event-log.js';
import { type Clock, systemClock } from '../../src/platform/clock.js';
import type { Origins } from '../../src/sealing/history.js';
import type { KeptNotes } from '../../src/sealing/kept-notes.js';
import { Sealer } from '../../src/sealing/sealer.js';
import { SigningKeys } from '../../src/sealing/signing-keys.js';
import type { TermParts } from '../../src/sealing/term.js';
import { parseCheckpoint } from '../../src/tlog/checkpoint.js';
import { rootAt } from '../../src/tlog/merkle.js';
import { NoteSigner } from '../../src/tlog/note.js';
import { EmbeddedTreeStore } from '../../src/tree-store/embedded/tree-store.js';
import { nodesOf } from '../../src/tree-store/tree-nodes.js';
import type { Tree, TreeStore } from '../../src/tree-store/tree-store.js';
import { PATIENCE } from './patience.js';

/** Of these tests alone. */
export const SIGNER = NoteSigner.parse('PRIVATE+KEY+test+a3f03024+AezwF4krj801MX0A8Z2wdkRMRjTCchbZ9shXIut2a7Q1');

export function openLog(dataDir: string, audit = 1, clock: Clock = systemClock): Promise<EmbeddedEventLog> {
  return EmbeddedEventLog.open({ file: join(dataDir, 'log.db'), partitions: { audit }, clock });
}

export function openTrees(dataDir: string, log: string, name = 'tlog.db'): EmbeddedTreeStore {
  return EmbeddedTreeStore.open({ file: join(dataDir, name), log, onReplaced: () => undefined });
}

/** Notes in memory: what was signed, whatever becomes of the rest. */
export class SignedNotes implements KeptNotes {
  readonly notes: string[] = [];

  async last(): Promise<string | undefined> {
    return this.notes.at(-1);
  }

  async add(note: string): Promise<void> {
    this.notes.push(note);
  }
}

export function sealerFor(log: EventLog, store: TreeStore, other: Partial<TermParts> = {}): Sealer {
  return new Sealer({
    log,
    store,
    snapshots: { load: async () => 0 },
    kept: new SignedNotes(),
    keys: () => new SigningKeys(SIGNER),
    clock: systemClock,
    intervalMs: 1,
    origin: 'test.example.com',
    logger: pino({ level: 'silent' }),
    ...other,
  });
}

/** The log, as one sees it who has been given all partitions alone. */
export function leading(log: EventLog): EventLog {
  const consume: EventLog['consume'] = async (_topic, consumer, signal) => {
    await consumer.assigned([0]);
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  };
  return new Proxy(log, {
    get(target, name) {
      if (name === 'consume') return consume;
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Runs the sealer until the work is done. */
export async function sealing<Result>(sealer: Sealer, work: () => Promise<Result>): Promise<Result> {
  const stop = new AbortController();
  const running = sealer.run(stop.signal);
  try {
    return await work();
  } finally {
    stop.abort();
    await running;
  }
}

/** Resolves when everything in the log is published; rejects if nothing may be signed any more. */
export async function allPublished(sealer: Sealer, log: EventLog): Promise<void> {
  for (const deadline = Date.now() + 60_000 * PATIENCE; Date.now() < deadline; ) {
    const { diverged, leads, cut } = sealer.status;
    if (diverged !== undefined) throw new Error(diverged);
    const heads = { audit: await log.head('audit'), control: await log.head('control') };
    if (leads && cut !== undefined && sealer.lagMs(heads) === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error('the log was not sealed in time');
}

/** An event that says `n`. */
export function eventOf(org: string, n: number): LogEntry {
  const at = new Date(1_700_000_000_000 + n).toISOString();
  const context = { org, name: 'default' };
  const id = `${org}-${n}`;
  return auditEntry({ id, eventTime: at, postedTime: at, requestId: `r-${n}`, context, resource: { name: `n-${n}` } });
}

/** Everything that was ever signed, by the name of the tree: the root at each size. Throws if two notes contradict each other. */
export class SignedRoots {
  readonly trees = new Map<string, Map<number, string>>();

  add(note: string): void {
    const { origin, size, root } = parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1));
    const sizes = this.trees.get(origin) ?? new Map<number, string>();
    this.trees.set(origin, sizes);
    const text = root.toString('base64');
    if ((sizes.get(size) ?? text) !== text) throw new Error(`two notes of ${origin} of size ${size}`);
    sizes.set(size, text);
  }

  /** How many were checked against the trees as they are now. */
  async check(store: TreeStore, origins: Origins): Promise<number> {
    const trees: [string, Tree, number][] = [[origins.service, 'service', (await store.progress())?.n ?? 0]];
    for await (const { org, number, size } of store.heads()) trees.push([origins.org(org), number, size]);
    let checked = 0;
    for (const [origin, tree, total] of trees) {
      const nodes = nodesOf(store, tree, total);
      for (const [size, root] of this.trees.get(origin) ?? []) {
        if (size > total) throw new Error(`${origin} was signed at ${size}, and has ${total}`);
        if ((await rootAt(size, nodes)).toString('base64') !== root) throw new Error(`${origin} differs at ${size}`);
        checked += 1;
      }
    }
    return checked;
  }
}
