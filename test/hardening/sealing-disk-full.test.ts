import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { NotesFile } from '../../src/sealing/kept-notes.js';
import type { TlogStatus } from '../../src/sealing/status.js';
import { NoteSigner } from '../../src/tlog/note.js';
import { temporaryFolder } from '../contract/embedded.harness.js';
import { Api, newOrg } from '../support/api.js';
import { PATIENCE } from '../support/patience.js';
import { checkpointed, checkpointOf, provenExport, SEALED_OFTEN, verifyProven, vkeyOfLog } from '../support/proofs.js';
import { randomFor } from '../support/random.js';
import { allPublished, eventOf, openLog, openTrees, SignedRoots, sealerFor, sealing } from '../support/sealing.js';
import { startService } from '../support/service.js';
import { canMountTmpfs, mountTmpfs } from '../support/tmpfs.js';
import { scaled, tell } from './scale.js';

const canMount = canMountTmpfs();

let folder = '';
let disk = '';
beforeEach(async () => {
  folder = await temporaryFolder();
  disk = join(folder, 'disk');
  mkdirSync(disk);
});
afterEach(() => {
  if (canMount) execFileSync('umount', ['-l', disk]);
  rmSync(folder, { recursive: true, force: true });
});

/** Leaves so many bytes on the disk. */
function fillUp(left = 0): void {
  for (const size of [65_536, 4_096]) {
    for (let n = 0; ; n += 1) {
      try {
        writeFileSync(join(disk, `filler-${size}-${n}`), new Uint8Array(size), { flag: 'wx' });
      } catch {
        unlinkSync(join(disk, `filler-${size}-${n}`));
        break;
      }
    }
  }
  for (let n = 0; n * 4_096 < left; n += 1) rmSync(join(disk, `filler-4096-${n}`), { force: true });
}

const makeSpace = () => mountTmpfs(disk, 'remount,size=64m');

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 20_000 * PATIENCE;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error('waited in vain');
    await delay(50);
  }
}

const withDisk = canMount ? test : test.skip;

/** Fills the disk while a service seals, waits until it refuses events or says so, gives it space, and verifies what was sealed. */
async function sealedAfter(dataDir: string): Promise<void> {
  const service = await startService({ dataDir, env: { ...SEALED_OFTEN, CONTROL_SYNC_TIMEOUT_MS: '2000' } });
  const org = await newOrg(service);
  const ready = async () =>
    (await (await fetch(`${service.url}/health/ready`)).json()) as { status: string; warnings?: string[] };
  const publish = async (n: number) => (await org.publish({ resource: { name: `r${n}` } })).status;
  for (let n = 0; n < 10; n += 1) expect(await publish(n)).toBe(201);
  await checkpointed(org);
  const before = await checkpointOf(org);
  fillUp();
  const root = new Api(service.url, service.rootKey);
  // It is tried again and again, so the warning may go for a moment. Where the log itself has no space, nothing is unsealed.
  await until(async () => {
    const published = await publish(1);
    expect([201, 202, 503]).toContain(published);
    const { warnings = [] } = await ready();
    const { body: status } = await root.get<TlogStatus>('/-tlog-status');
    expect(status.divergence).toBeNull();
    if (published === 503 && status.lagSeconds === 0) return true;
    const isWarned = /the log is not sealed at the moment: the disk is full|is not sealed: the log has no space left/;
    return isWarned.test(warnings.join()) && /disk is full|no space left/.test(status.stalled ?? '');
  });
  makeSpace();
  await until(async () => (await publish(1_000)) === 201);
  await checkpointed(org);
  await until(async () => (await ready()).warnings === undefined);
  const pinned = { pinned: before.note };
  const vkey = await vkeyOfLog(org);
  const found = await verifyProven(await provenExport(org, { pinned: String(before.size) }), vkey, pinned);
  expect([found.closed, found.pinned?.size]).toEqual([0, before.size]);
  await service.stop();
  tell(`${before.size} leaves were sealed before the disk was full, ${found.size} in all after there was space`);
}

withDisk('nothing that was signed is contradicted after the trees and their notes had no space', async () => {
  const random = randomFor('trees on a full disk');
  mountTmpfs(disk, 'size=1m,mode=0700');
  const log = await openLog(folder);
  const store = openTrees(disk, log.id);
  const kept = new NotesFile(join(disk, 'checkpoints.txt'));
  const signed = new SignedRoots();
  const lines: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
  const sealer = sealerFor(log, store, { kept, logger });
  let n = 0;
  const append = () => log.append(Array.from({ length: random.whole(1, 200) }, () => eventOf(`org-${n % 7}`, n++)));
  let failures = 0;
  await sealing(sealer, async () => {
    for (let round = 0; round < scaled(4, 60); round += 1) {
      mountTmpfs(disk, `remount,size=${1 + round}m`);
      fillUp(4_096 * random.whole(0, 20));
      for (let tries = 0; tries < 400 && sealer.status.failing === undefined; tries += 1) {
        await append();
        await delay(2);
      }
      expect([sealer.status.leads, sealer.status.failing, lines.at(-1)]).toEqual([
        ...[true, expect.stringMatching(/^the disk is full/)],
        expect.anything(),
      ]);
      expect(sealer.status.diverged).toBeUndefined();
      failures += 1;
      mountTmpfs(disk, 'remount,size=256m');
      await allPublished(sealer, log);
      expect(sealer.status.failing).toBeUndefined();
      for await (const { number } of store.heads()) signed.add((await store.published(number))?.note ?? '');
      signed.add((await store.published('service'))?.note ?? '');
      expect(await kept.last()).toBe((await store.published('service'))?.note);
      for (const name of readdirSync(disk)) if (name.startsWith('filler')) rmSync(join(disk, name));
    }
  });
  const checked = await signed.check(store, sealer.origins);
  await store.close();
  await log.close();
  tell(`${failures} times the trees had no space; ${n} events, ${checked} signed checkpoints checked`);
  expect(checked).toBeGreaterThan(failures);
});

withDisk('events are refused while the disk of the data folder is full, and sealed when it is not', async () => {
  mountTmpfs(disk, 'size=8m,mode=0700');
  await sealedAfter(disk);
});

const ORIGIN = 'test.example.com/audit/-tlog';
const signer = NoteSigner.generate(ORIGIN);
const noteOf = (size: number) =>
  signer.signNote(ORIGIN, `${ORIGIN}\n${size}\n${Buffer.alloc(32, size).toString('base64')}\n`);

withDisk('the last note that was kept is found, wherever a full disk cut one off', async () => {
  const random = randomFor('notes on a full disk');
  mountTmpfs(disk, 'size=1m,mode=0700');
  const file = join(disk, 'checkpoints.txt');
  let [cutOff, kept] = [0, 0];
  for (let round = 0; round < scaled(20, 200); round += 1) {
    mountTmpfs(disk, 'remount,size=1m');
    for (const name of ['checkpoints.txt', 'checkpoints.txt.new']) rmSync(join(disk, name), { force: true });
    const notes = new NotesFile(file);
    let size = random.whole(1, 1e6);
    for (let n = random.whole(1, 30); n > 0; n -= 1) await notes.add(noteOf(size++));
    fillUp();
    let last = size - 1;
    for (let n = 0; n < 60; n += 1) {
      try {
        await notes.add(noteOf(size));
        last = size;
        kept += 1;
      } catch {
        cutOff += 1;
        if (n % 3 === 0) break;
      }
      size += 1;
    }
    expect([undefined, noteOf(last), noteOf(last + 1)]).toContain(await notes.last());
    makeSpace();
    for (let n = 0; n < 3; n += 1) {
      await notes.add(noteOf(++size));
      expect(await notes.last()).toBe(noteOf(size));
      expect(await new NotesFile(file).last()).toBe(noteOf(size));
    }
    for (const name of readdirSync(disk)) if (name.startsWith('filler')) rmSync(join(disk, name));
  }
  tell(`${cutOff} notes were cut off by a full disk, ${kept} were kept in what was left`);
  expect(cutOff).toBeGreaterThan(0);
});
