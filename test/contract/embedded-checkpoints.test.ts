import { existsSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { turnOfTheLoop } from '../../src/platform/waiting.js';
import type { EmbeddedGeneration } from '../../src/read-model/embedded/generation.js';
import { PATIENCE } from '../support/patience.js';
import { type EmbeddedModelHarness, openEmbeddedReadModel } from './embedded.harness.js';
import { sleep } from './harness.js';
import { event, events, found, ORG, promote, search, store } from './read-model.harness.js';

const MIB = 1024 * 1024;

let harness: EmbeddedModelHarness;
beforeEach(async () => {
  harness = await openEmbeddedReadModel();
});
afterEach(() => harness.destroy());

function live(): EmbeddedGeneration {
  return Reflect.get(harness.model, 'current');
}

function bytesOf(suffix: '' | '-wal'): number {
  return statSync(harness.file + suffix).size;
}

/** Applies events of 1 MiB each. */
async function applyMebibytes(from: number, to: number): Promise<void> {
  for (let n = from; n < to; n += 1) {
    const source = JSON.stringify({ n, fill: 'x'.repeat(MIB) });
    await harness.model.apply('audit', [event(n, { source })], { 0: n + 1 }, { 0: n });
    await turnOfTheLoop();
  }
}

async function fileReaches(bytes: number): Promise<void> {
  const deadline = Date.now() + 60_000 * PATIENCE;
  while (bytesOf('') < bytes && Date.now() < deadline) await sleep(20);
  expect(bytesOf('')).toBeGreaterThanOrEqual(bytes);
}

describe('the write-ahead log of the read model', () => {
  test('is copied into the file by another thread while events are applied, and then begun anew', async () => {
    const database: DatabaseSync = Reflect.get(live(), 'database');
    expect(database.prepare('PRAGMA wal_autocheckpoint').get()).toEqual({ wal_autocheckpoint: 0 });

    await applyMebibytes(0, 300);
    await fileReaches(200 * MIB);
    // What was copied does not count any more.
    await applyMebibytes(300, 600);
    await fileReaches(400 * MIB);

    expect(bytesOf('-wal')).toBeLessThan(500 * MIB);
    expect(await harness.model.count('auditevent', ORG)).toEqual(new Map([['shop', 600]]));
    await harness.reopen();
    expect(existsSync(`${harness.file}-wal`) ? bytesOf('-wal') : 0).toBe(0);
    expect(await harness.model.count('auditevent', ORG)).toEqual(new Map([['shop', 600]]));
  });

  test('lets writes wait while its rest is copied, and reads go on', async () => {
    await store(harness.model, events(0, 3));
    const copied = Promise.withResolvers<void>();
    live().checkpoints.barrier = copied.promise;
    let isApplied = false;
    const applying = harness.model.apply('audit', [event(3)], { 0: 4 }).then(() => {
      isApplied = true;
    });
    expect((await search(harness.model)).items).toHaveLength(3);
    await sleep(20);
    expect(isApplied).toBe(false);

    live().checkpoints.barrier = undefined;
    copied.resolve();
    await applying;
    expect(await found(harness.model)).toEqual([0, 1, 2, 3]);
  });

  test('is copied whole before a long one gives way to the next generation', async () => {
    await applyMebibytes(0, 280);
    const next = await harness.model.begin();
    await store(next, events(0, 3));
    await next.seal(600_000);
    await promote(next);

    expect(await found(harness.model)).toEqual([0, 1, 2]);
  });
});
