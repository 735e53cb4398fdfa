import { generateKeyPairSync } from 'node:crypto';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EventLog } from '../../src/event-log/event-log.js';
import { rotateKey } from '../../src/operator/rotate-key.js';
import { publishedLog } from '../../src/queries/published-log.js';
import { checkpointEntry, keyChangeText } from '../../src/sealing/chain.js';
import { checkTrees } from '../../src/sealing/check.js';
import { beginEpoch } from '../../src/sealing/epoch.js';
import { NotesFile } from '../../src/sealing/kept-notes.js';
import type { Sealer } from '../../src/sealing/sealer.js';
import { SigningKeys } from '../../src/sealing/signing-keys.js';
import { parseCheckpoint } from '../../src/tlog/checkpoint.js';
import { leafHash } from '../../src/tlog/hash.js';
import { verifyInclusion } from '../../src/tlog/merkle.js';
import { NoteSigner, openNote, vkeyOf } from '../../src/tlog/note.js';
import { parseServiceEntry } from '../../src/tlog/service-entry.js';
import type { TreeStore } from '../../src/tree-store/tree-store.js';
import { temporaryFolder } from '../contract/embedded.harness.js';
import {
  allPublished,
  eventOf,
  openLog,
  openTrees,
  SIGNER,
  SignedRoots,
  sealerFor,
  sealing,
} from '../support/sealing.js';

const ORGS = ['acme', 'beta', 'gamma'];
const SERVICE = 'test.example.com/audit/-tlog';
const DAY_MS = 86_400_000;

let folder = '';
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => rm(folder, { recursive: true }));

async function cuts(sealer: Sealer, log: EventLog, count: number, from: number, orgs = ORGS): Promise<void> {
  for (let cut = 0; cut < count; cut += 1) {
    await log.append(orgs.map((org, at) => eventOf(org, from + 10 * cut + at)));
    await allPublished(sealer, log);
  }
}

async function published(store: TreeStore): Promise<string[]> {
  const notes = [(await store.published('service'))?.note ?? ''];
  for await (const { number } of store.heads()) notes.push((await store.published(number))?.note ?? '');
  return notes;
}

const originOf = (note: string) => note.slice(0, note.indexOf('\n'));
const sizeOf = (note: string) => parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1)).size;

describe('a key that replaces another', () => {
  const vkeys = (origin: string, ...keys: NoteSigner[]) => keys.map(({ publicKey }) => vkeyOf(origin, publicKey));

  it('is recorded by the one before, signs with it for a while, and then alone', async () => {
    const log = await openLog(folder);
    const store = openTrees(folder, log.id);
    const first = new SigningKeys(SIGNER);
    const sealed = sealerFor(log, store, { keys: () => first });
    await sealing(sealed, () => cuts(sealed, log, 3, 0));
    const n = (await store.progress())?.n ?? 0;
    const both = SigningKeys.parse(first.rotated(Date.now(), 90 * DAY_MS).toText());
    const rotated = sealerFor(log, store, { keys: () => both });
    await sealing(rotated, async () => {
      await cuts(rotated, log, 2, 100);
      expect(await rotated.vkeys()).toEqual([
        { vkey: vkeys(SERVICE, SIGNER)[0], fromCut: 1, toCut: n },
        { vkey: vkeys(SERVICE, both.newest)[0], fromCut: n + 1 },
      ]);
    });
    for (const note of await published(store)) {
      const keys = vkeys(originOf(note), both.newest, SIGNER);
      expect(openNote(note, keys).signatures.map(({ vkey }) => vkey)).toEqual(keys);
    }
    const over = new SigningKeys(
      both.newest,
      both.former.map(({ signer }) => ({ signer, until: Date.now() - 1 })),
    );
    const alone = sealerFor(log, store, { keys: () => over });
    await sealing(alone, () => cuts(alone, log, 1, 200));
    for (const note of await published(store)) {
      expect(openNote(note, vkeys(originOf(note), both.newest, SIGNER)).signatures).toHaveLength(1);
    }
    await store.close();
    await log.close();
  });

  it('is refused without the key before, or its signature', async () => {
    const log = await openLog(folder);
    const store = openTrees(folder, log.id);
    const sealed = sealerFor(log, store);
    await sealing(sealed, () => cuts(sealed, log, 1, 0));
    const thief = NoteSigner.generate(SERVICE);
    const [vkey = ''] = vkeys(SERVICE, thief);
    const prev = (await store.progress())?.hash.toString('base64') ?? '';
    const forged = thief.signNote(SERVICE, keyChangeText(vkey));
    const borrowed = SIGNER.signNote(SERVICE, keyChangeText(vkeys(SERVICE, SIGNER)[0] ?? ''));
    for (const note of [forged, borrowed, '', 'no note']) {
      await log.append([checkpointEntry({ kind: 'key', prev, vkey, note })]);
    }
    const going = sealerFor(log, store);
    await sealing(going, () => cuts(going, log, 1, 100));
    expect(await going.vkeys()).toHaveLength(1);
    const stolen = sealerFor(log, store, { keys: () => new SigningKeys(thief) });
    await sealing(stolen, async () => {
      await expect(allPublished(stolen, log)).rejects.toThrow('the key that signs checkpoints is not');
    });
    await store.close();
    await log.close();
  });
});

test('control-service rotate-key replaces a key in PEM, which goes on signing', async () => {
  const file = join(folder, 'checkpoint.key');
  const { privateKey } = generateKeyPairSync('ed25519');
  await writeFile(file, privateKey.export({ format: 'pem', type: 'pkcs8' }));
  const before = SigningKeys.parse(await readFile(file, 'utf8'), SERVICE).newest;
  expect(await rotateKey(file)).toBe(0);
  const after = SigningKeys.parse(await readFile(file, 'utf8'), SERVICE);
  expect(after.newest.publicKey).not.toEqual(before.publicKey);
  expect(after.former.map(({ signer }) => signer.publicKey)).toEqual([before.publicKey]);
});

describe('a log that was restored', () => {
  it('goes on in a new epoch, under names that were never signed for', async () => {
    const [live, copy] = [join(folder, 'live'), join(folder, 'copy')];
    const roots = new SignedRoots();
    const kept = new NotesFile(join(folder, 'checkpoints.txt'));
    await mkdir(live);
    let log = await openLog(live);
    let store = openTrees(live, log.id);
    let sealer = sealerFor(log, store, { kept });
    await sealing(sealer, () => cuts(sealer, log, 3, 0));
    await store.close();
    await log.close();
    await cp(live, copy, { recursive: true });
    for (let epoch = 1; epoch <= 3; epoch += 1) {
      log = await openLog(live);
      store = openTrees(live, log.id);
      sealer = sealerFor(log, store, { kept });
      await sealing(sealer, async () => {
        await cuts(sealer, log, 4, 1_000 * epoch, ['acme']);
        const suffix = epoch === 1 ? '' : `/${epoch}`;
        const notes = await published(store);
        expect(notes.map(originOf)).toEqual([
          `${SERVICE}${suffix}`,
          ...ORGS.map((org) => `test.example.com/audit/org/${org}/-tlog${suffix}`),
        ]);
        expect(sizeOf(notes[0] ?? '')).toBe((await store.progress())?.n);
        for (const note of notes) roots.add(note);
        await proveHeads(sealer);
      });
      await store.close();
      await log.close();
      // The copy again, which knows of none of the later epochs.
      await rm(live, { recursive: true });
      await cp(copy, live, { recursive: true });
      log = await openLog(live);
      store = openTrees(live, log.id);
      sealer = sealerFor(log, store, { kept });
      await sealing(sealer, async () => {
        await expect(allPublished(sealer, log)).rejects.toThrow('--new-epoch');
      });
      await store.close();
      const last = await kept.last();
      const origin = 'test.example.com';
      const begun = await beginEpoch(log, {
        ...{ reason: 'a test', last: async () => last, origin },
        publicKey: SIGNER.publicKey,
        now: 0,
      });
      expect(begun).toMatchObject({ epoch: epoch + 1, reason: 'a test', last });
      await log.close();
    }
    expect(roots.trees.size).toBe(3 * 4);
  });

  it('shows a checkpoint of the new epoch before there is another event, and the same when it is made anew', async () => {
    const log = await openLog(folder);
    let store = openTrees(folder, log.id, 'first.db');
    const sealed = sealerFor(log, store);
    await sealing(sealed, () => cuts(sealed, log, 2, 0));
    const last = (await store.published('service'))?.note;
    const begun = { reason: 'r', last: async () => last, publicKey: SIGNER.publicKey };
    await beginEpoch(log, { ...begun, origin: 'test.example.com', now: 0 });
    const going = sealerFor(log, store);
    await sealing(going, async () => {
      while ((await store.published('service'))?.note === last) await new Promise((resolve) => setTimeout(resolve, 5));
      await proveHeads(going);
    });
    const notes = await published(store);
    expect(notes.map(originOf)).toEqual([
      `${SERVICE}/2`,
      ...ORGS.map((org) => `test.example.com/audit/org/${org}/-tlog/2`),
    ]);
    expect(await checkTrees({ log, store }, () => undefined, AbortSignal.timeout(20_000))).toMatchObject({
      divergence: null,
    });
    await store.close();
    store = openTrees(folder, log.id, 'second.db');
    const anew = sealerFor(log, store);
    await sealing(anew, () => allPublished(anew, log));
    expect(await published(store)).toEqual(notes);
    await store.close();
    await log.close();
  });
});

test('a checkpoint that nobody will sign is refused with the reason, not with "try again"', async () => {
  const log = await openLog(folder);
  const store = openTrees(folder, log.id);
  const kept = { last: async () => 'a note of the log before', add: async () => undefined };
  const sealer = sealerFor(log, store, { kept });
  await expect(publishedLog(sealer)).rejects.toMatchObject({ code: 'not_integrated' });
  await sealing(sealer, async () => {
    await expect(allPublished(sealer, log)).rejects.toThrow('--new-epoch');
    for (const org of [undefined, 'acme']) {
      await expect(publishedLog(sealer, org)).rejects.toMatchObject({ code: 'not_sealed' });
    }
  });
  await store.close();
  await log.close();
});

/** Of every organization: its published checkpoint is in the directory of the published cut. */
async function proveHeads(sealer: Sealer): Promise<void> {
  for (const [number] of ORGS.entries()) {
    const proof = await sealer.headProof(number);
    if (!proof) throw new Error(`no proof of ${number}`);
    const { directory } = parseServiceEntry(proof.entry);
    verifyInclusion(leafHash(Buffer.from(proof.checkpoint)), number, proof.orgs, proof.directoryPath, directory);
  }
}
