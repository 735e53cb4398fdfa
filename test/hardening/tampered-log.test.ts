import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FORMAT, note } from '../../src/event-log/embedded/format.js';
import {
  decodeHeader,
  encodeCommit,
  encodeHeader,
  frameAt,
  frameTexts,
  frameTime,
  frameValue,
  seedOf,
} from '../../src/event-log/embedded/frame.js';
import { numbered } from '../../src/event-log/embedded/layout.js';
import type { LogRecord } from '../../src/event-log/event-log.js';
import { openExclusive } from '../../src/platform/sqlite.js';
import { checkpointEntry } from '../../src/sealing/chain.js';
import { checkTrees } from '../../src/sealing/check.js';
import { temporaryFolder } from '../contract/embedded.harness.js';
import { allPublished, eventOf, openLog, openTrees, SignedNotes, sealerFor, sealing } from '../support/sealing.js';
import { Seed } from '../support/seed.js';

type Row = Pick<LogRecord, 'time' | 'key' | 'headers' | 'value'> & { readonly partition: string };

let folder = '';
let kept = new SignedNotes();
beforeEach(async () => {
  folder = await temporaryFolder();
  kept = new SignedNotes();
  const log = await openLog(folder);
  const [trees, seed] = [openTrees(folder, log.id), new Seed()];
  const sealer = sealerFor(log, trees, { kept });
  await sealing(sealer, async () => {
    for (let cut = 0; cut < 4; cut += 1) {
      if (cut < 2) seed.org(`org-${cut}`);
      const events = Array.from({ length: 10 }, (_, n) => eventOf(`org-${n % 2}`, 10 * cut + n));
      await log.append([...seed.take(), ...events]);
      await allPublished(sealer, log);
    }
  });
  await trees.close();
  await log.close();
});
afterEach(() => rm(folder, { recursive: true }));

/** Writes the log anew with other records: with offsets, checksums, places and noted ends as the service would have them. */
function rewrite(change: (rows: Row[]) => Row[]): void {
  const file = join(folder, 'log.records');
  const bytes = readFileSync(file);
  const { header, size } = decodeHeader(bytes) ?? fail();
  const partitions = numbered(header.layout);
  const rows: Row[] = [];
  for (let at = size; at < bytes.byteLength; ) {
    const frame = frameAt(bytes, at, seedOf(header.id)) ?? fail();
    const { name: partition } = partitions[frame.partition] ?? fail();
    rows.push({ partition, time: frameTime(frame), ...frameTexts(frame), value: Buffer.from(frameValue(frame)) });
    at += frame.size;
  }
  const heads: Record<string, number> = Object.fromEntries(partitions.map(({ name }) => [name, 0]));
  const commits = change(rows).map(({ partition, ...row }) => {
    const offset = heads[partition] ?? 0;
    heads[partition] = offset + 1;
    const number = partitions.findIndex(({ name }) => name === partition);
    return Buffer.from(encodeCommit([{ number, records: [{ ...row, offset }] }], seedOf(header.id)).bytes);
  });
  const written = Buffer.concat([encodeHeader(header), ...commits]);
  writeFileSync(file, written);
  for (const name of readdirSync(folder)) if (name.endsWith('.places')) rmSync(join(folder, name));
  const db = openExclusive(join(folder, 'log.db'), FORMAT.application);
  note(db, { bytes: written.byteLength, heads });
  db.close();
}

function fail(): never {
  throw new Error('the log of the test is damaged');
}

const indexOf = (rows: readonly Row[], partition: string, n: number) =>
  rows.indexOf(rows.filter((row) => row.partition === partition)[n] ?? fail());

const replaced = (row: Row, from: RegExp, to: string): Row => {
  const text = row.value.toString();
  if (!from.test(text)) throw new Error(`${text} has no ${from}`);
  return { ...row, value: Buffer.from(text.replace(from, to)) };
};

const TAMPERINGS: Readonly<Record<string, (rows: Row[]) => Row[]>> = {
  'an event altered': (rows) =>
    rows.with(indexOf(rows, 'audit/0', 5), replaced(rows[indexOf(rows, 'audit/0', 5)] ?? fail(), /n-5/, 'n-6')),
  'an event removed': (rows) => rows.toSpliced(indexOf(rows, 'audit/0', 7), 1),
  'an event inserted': (rows) =>
    rows.toSpliced(indexOf(rows, 'audit/0', 7), 0, rows[indexOf(rows, 'audit/0', 6)] ?? fail()),
  'an event given another time': (rows) => {
    const at = indexOf(rows, 'audit/0', 9);
    const row = rows[at] ?? fail();
    return rows.with(at, { ...row, time: row.time - 1 });
  },
  'two events exchanged': (rows) => {
    const [one, other] = [indexOf(rows, 'audit/0', 3), indexOf(rows, 'audit/0', 4)];
    return rows.with(one, rows[other] ?? fail()).with(other, rows[one] ?? fail());
  },
  'the hash of a key replaced': (rows) => {
    const at = indexOf(rows, 'control/0', 0);
    return rows.with(at, replaced(rows[at] ?? fail(), /"stream":"key\/[0-9a-f]{4}/, '"stream":"key/0000'));
  },
  'a key minted by a record that no command made': (rows) => {
    const at = indexOf(rows, 'control/0', 1);
    const minted = replaced(replaced(rows[at] ?? fail(), /"commandId":"..../, '"commandId":"0000'), /org-1/g, 'org-9');
    return rows.toSpliced(at, 0, minted);
  },
};

describe.each(Object.entries(TAMPERINGS))('%s, and all checksums made anew', (_name, tamper) => {
  test('shows in a check of the trees, which changes nothing', async () => {
    rewrite(tamper);
    const log = await openLog(folder);
    const trees = openTrees(folder, log.id);
    const before = await trees.progress();
    const report = await checkTrees({ log, store: trees }, () => undefined, AbortSignal.any([]));

    expect(report.divergence).toMatch(/^cut 1[: ]|^cut 2[: ]/);
    expect(await trees.progress()).toEqual(before);
    await trees.close();
    await log.close();
  });

  test('stops all signing when the trees are made anew', async () => {
    rewrite(tamper);
    const log = await openLog(folder);
    const trees = openTrees(folder, log.id, 'again.db');
    const sealer = sealerFor(log, trees, { kept });
    const signed = kept.notes.length;

    await expect(sealing(sealer, () => allPublished(sealer, log))).rejects.toThrow(
      /^cut \d recorded .* but the log gives/,
    );
    expect(kept.notes.length).toBe(signed);
    await trees.close();
    await log.close();
  });
});

test('a check of a log as it was sealed finds nothing', async () => {
  const log = await openLog(folder);
  const trees = openTrees(folder, log.id);

  expect(await checkTrees({ log, store: trees }, () => undefined, AbortSignal.any([]))).toEqual({
    ...{ kind: 'tlogcheck', cuts: (await trees.progress())?.n, records: 42, orgs: 2, divergence: null },
  });
  await trees.close();
  await log.close();
});

describe('the last records removed, and all ends made anew', () => {
  const withoutLast = (rows: Row[]) =>
    rows.slice(
      0,
      rows.findLastIndex(({ partition }) => partition === 'audit/0'),
    );

  test.each([
    ['the trees', 'tlog.db', /was applied: the log is older than the trees/],
    ['what was signed', 'again.db', /cuts were signed, but the log has|recorded/],
  ])('shows at the next start by %s', async (_name, file, reason) => {
    rewrite(withoutLast);
    const log = await openLog(folder);
    const trees = openTrees(folder, log.id, file);
    const sealer = sealerFor(log, trees, { kept });

    await expect(sealing(sealer, () => allPublished(sealer, log))).rejects.toThrow(reason);
    await trees.close();
    await log.close();
  });

  test('ends a check of the trees, which says where the log ends and how far it was sealed', async () => {
    rewrite((rows) => withoutLast(rows).slice(0, -2));
    const log = await openLog(folder);
    const trees = openTrees(folder, log.id);
    const { divergence } = await checkTrees({ log, store: trees }, () => undefined, AbortSignal.timeout(20_000));

    expect(divergence).toMatch(
      /^the log ends at audit\/0\/\d+, checkpoints\/0\/\d+, but was sealed up to audit\/0\/40, checkpoints\/0\/\d+\. .*--new-epoch/,
    );
    await trees.close();
    await log.close();
  });
});

test('a cut of somebody else that names offsets which the log does not have ends all signing, and is no reason to wait', async () => {
  const log = await openLog(folder);
  const trees = openTrees(folder, log.id);
  const { hash = Buffer.alloc(0), n = 0 } = (await trees.progress()) ?? {};
  const [at, none] = [Date.now(), Buffer.alloc(32).toString('base64')];
  const roots = { orgs: 2, directory: none, digest: none, unreadable: 0, size: n + 1, root: none };
  const next = { 'audit/0': 1_000_000 };
  const prev = hash.toString('base64');
  await log.append([checkpointEntry({ kind: 'cut', n: n + 1, prev, at, complete: at, next, ...roots })]);
  const sealer = sealerFor(log, trees, { kept });

  await expect(sealing(sealer, () => allPublished(sealer, log))).rejects.toThrow(
    'the log ends at audit/0/40, but was sealed up to audit/0/1000000',
  );
  await trees.close();
  await log.close();
});

test('after a check that found something nothing is signed until one passes', async () => {
  const log = await openLog(folder);
  const trees = openTrees(folder, log.id);
  const sealer = sealerFor(log, trees, { kept });
  await sealing(sealer, async () => {
    await allPublished(sealer, log);
    const before = kept.notes.length;
    sealer.halt('a test found something');
    await log.append([eventOf('org-0', 500)]);
    await expect(allPublished(sealer, log)).rejects.toThrow('a test found something');
    await expect(sealer.orgSecret('org-0')).rejects.toMatchObject({ code: 'not_sealed' });
    expect(kept.notes.length).toBe(before);
    sealer.resume();
    while (sealer.status.diverged !== undefined) await new Promise((resolve) => setTimeout(resolve, 2));
    await allPublished(sealer, log);
    expect(kept.notes.length).toBeGreaterThan(before);
  });
  await trees.close();
  await log.close();
});
