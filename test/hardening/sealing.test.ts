import { rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { emptyFold } from '../../src/control/fold.js';
import type { EmbeddedEventLog } from '../../src/event-log/embedded/event-log.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import { readRange } from '../../src/event-log/read-range.js';
import { LeafMaker } from '../../src/sealing/leaves.js';
import { leafHash } from '../../src/tlog/hash.js';
import { consistencyPath, inclusionPath, verifyConsistency, verifyInclusion } from '../../src/tlog/merkle.js';
import { parseEntryBundle } from '../../src/tlog/tile.js';
import { nodesOf } from '../../src/tree-store/tree-nodes.js';
import { type OrgHead, PLACE_BYTES, type TreeStore } from '../../src/tree-store/tree-store.js';
import { temporaryFolder } from '../contract/embedded.harness.js';
import { type Random, randomFor } from '../support/random.js';
import {
  allPublished,
  eventOf,
  openLog,
  openTrees,
  SignedNotes,
  SignedRoots,
  sealerFor,
  sealing,
} from '../support/sealing.js';
import { Seed } from '../support/seed.js';
import { FULL, scaled, tell } from './scale.js';

/** 10,000 cuts take minutes. */
const FULL_MS = FULL ? 1_200_000 : undefined;

const ORGS = Array.from({ length: 50 }, (_, n) => `org-${n}`);

let folder = '';
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => rm(folder, { recursive: true }));

/** Appends events of random organizations, and changes of some. */
async function appendSome(log: EventLog, random: Random, seed: Seed, most: number, from: number): Promise<number> {
  const count = random.whole(1, most);
  const entries = Array.from({ length: count }, (_, n) => eventOf(random.pick(ORGS), from + n));
  if (random.chance(0.2)) seed.account('org-0', `account-${from}`);
  await log.append([...entries, ...seed.take()]);
  return count;
}

/** What every organization ends with, and the service log. */
async function headsOf(store: TreeStore): Promise<Record<string, string>> {
  const heads: Record<string, string> = {};
  for await (const { org, number, size, root } of store.heads()) {
    heads[org] = `${number} ${size} ${root.toString('base64')}`;
  }
  return heads;
}

/** A store that tells what is published. */
function watched(store: TreeStore, roots: SignedRoots): TreeStore {
  return new Proxy(store, {
    get(target, name) {
      if (name === 'publish') {
        return (cut: number, notes: ReadonlyMap<'service' | number, string>) => {
          for (const note of notes.values()) roots.add(note);
          return target.publish(cut, notes);
        };
      }
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Proves every event of the log with what the store has. Returns how many. */
async function proveAll(log: EventLog, store: TreeStore, secret: Buffer): Promise<number> {
  const heads = new Map<number, OrgHead>();
  for await (const head of store.heads()) heads.set(head.number, head);
  const nodes = new Map(Array.from(heads, ([number, { size }]) => [number, nodesOf(store, number, size)]));
  const leaves = new LeafMaker(secret, emptyFold());
  let proved = 0;
  for (const topic of ['control', 'audit'] as const) {
    for await (const { partition, records } of readRange(log, topic, {}, await log.head(topic), AbortSignal.any([]))) {
      for (const record of records) {
        const { offset } = record;
        const page = await store.page(topic, partition, Math.floor(offset / 256));
        const at = (offset % 256) * PLACE_BYTES;
        for (const [rank, { org, entry }] of leaves.of(record).leaves.entries()) {
          const number = (page?.readUInt32BE(at) ?? 0) - 1;
          const index = (page?.readUIntBE(at + 4, 6) ?? 0) + rank;
          const head = heads.get(number);
          const bundle = await store.bundle(number, Math.floor(index / 256));
          if (head?.org !== org || !bundle) throw new Error(`${topic}/${partition}/${offset} has no place`);
          expect(parseEntryBundle(bundle)[index % 256]).toEqual(entry);
          const path = await inclusionPath(index, head.size, nodes.get(number) ?? (() => entry));
          verifyInclusion(leafHash(entry), index, head.size, path, head.root);
          proved += 1;
        }
      }
    }
  }
  return proved;
}

test(
  'any two checkpoints are consistent, and every event has a proof',
  async () => {
    const random = randomFor('growth');
    const rounds = scaled(150, 10_000);
    const log = await openLog(folder, 3);
    const [trees, roots, seed] = [openTrees(folder, log.id), new SignedRoots(), new Seed()];
    for (const org of ORGS.slice(0, 3)) seed.org(org);
    const sealer = sealerFor(log, watched(trees, roots));
    let events = 0;
    await sealing(sealer, async () => {
      for (let round = 0; round < rounds; round += 1) {
        events += await appendSome(log, random, seed, 30, events);
        await allPublished(sealer, log);
      }
    });

    const cuts = (await trees.progress())?.n ?? 0;
    expect(cuts).toBeGreaterThanOrEqual(rounds);
    expect(await roots.check(trees, sealer.origins)).toBeGreaterThan(cuts);
    const sizes = [...(roots.trees.get(sealer.origins.service) ?? [])];
    const nodes = nodesOf(trees, 'service', cuts);
    for (let pair = 0; pair < 500; pair += 1) {
      const [older, newer] = [random.pick(sizes), random.pick(sizes)].sort(([one], [other]) => one - other);
      if (!older || !newer) throw new Error('nothing was signed');
      const path = await consistencyPath(older[0], newer[0], nodes);
      const [from, to] = [Buffer.from(older[1], 'base64'), Buffer.from(newer[1], 'base64')];
      verifyConsistency(older[0], from, newer[0], to, path);
    }
    const secret = await secretOf(log);
    expect(await proveAll(log, trees, secret)).toBeGreaterThan(events);
    tell(`${cuts} cuts, ${events} events`);
    await trees.close();
    await log.close();
  },
  FULL_MS,
);

async function secretOf(log: EventLog): Promise<Buffer> {
  for await (const { records } of readRange(log, 'checkpoints', {}, { 0: 1 }, AbortSignal.any([]))) {
    return Buffer.from(JSON.parse(Buffer.from(records[0]?.value ?? '').toString()).secret, 'base64');
  }
  throw new Error('the log has no genesis');
}

test.each([1, 3, 12])(
  'trees that were lost are made anew, the same, from a log of %i partitions',
  async (partitions) => {
    const random = randomFor(`rebuild ${partitions}`);
    const log = await openLog(folder, partitions);
    const [first, seed] = [openTrees(folder, log.id), new Seed()];
    seed.org('org-0');
    const sealer = sealerFor(log, first);
    let events = 0;
    await sealing(sealer, async () => {
      for (let round = 0; round < scaled(40, 400); round += 1) {
        events += await appendSome(log, random, seed, round % 10 === 0 ? 600 : 20, events);
        if (random.chance(0.5)) await allPublished(sealer, log);
      }
      await allPublished(sealer, log);
    });
    const again = openTrees(folder, log.id, 'again.db');
    const other = sealerFor(log, again, { intervalMs: 50 });
    await sealing(other, () => allPublished(other, log));

    expect(await headsOf(again)).toEqual(await headsOf(first));
    const [one, two] = [await first.progress(), await again.progress()];
    expect(two).toEqual(one);
    expect(await again.published('service')).toEqual(await first.published('service'));
    for (const store of [first, again]) await store.close();
    await log.close();
  },
);

test('two sealers at once make one history', async () => {
  const random = randomFor('race');
  const log = await openLog(folder, 3);
  const [seed, roots] = [new Seed(), new SignedRoots()];
  seed.org('org-0');
  const [one, other] = [openTrees(folder, log.id, 'one.db'), openTrees(folder, log.id, 'other.db')];
  const [first, second] = [sealerFor(log, watched(one, roots)), sealerFor(log, watched(other, roots))];
  let events = 0;
  const race = async () => {
    for (let round = 0; round < scaled(60, 1_000); round += 1) {
      events += await appendSome(log, random, seed, 20, events);
      if (random.chance(0.3)) await Promise.all([allPublished(first, log), allPublished(second, log)]);
    }
    await Promise.all([allPublished(first, log), allPublished(second, log)]);
  };
  await sealing(first, () => sealing(second, race));

  expect(await headsOf(other)).toEqual(await headsOf(one));
  expect(await other.progress()).toEqual(await one.progress());
  const [head] = Object.values(await log.head('checkpoints'));
  const cuts = (await one.progress())?.n ?? 0;
  expect(await roots.check(one, first.origins)).toBeGreaterThan(0);
  tell(`${cuts} cuts counted of ${(head ?? 0) - 1}`);
  for (const store of [one, other]) await store.close();
  await log.close();
});

class Killed extends Error {}

/** The parts of a sealer that dies at one of its steps, before it or after it, and does nothing any more. */
function mortal(log: EmbeddedEventLog, store: TreeStore, kept: SignedNotes, roots: SignedRoots, dies: () => boolean) {
  let isDead = false;
  const step =
    <Args extends readonly unknown[], Result>(work: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      if (isDead || dies()) isDead = true;
      if (isDead) throw new Killed();
      const result = await work(...args);
      if (dies()) isDead = true;
      if (isDead) throw new Killed();
      return result;
    };
  const proxy = <Part extends object>(part: Part, steps: Partial<Record<keyof Part, unknown>>): Part =>
    new Proxy(part, {
      get(target, name) {
        if (name in steps) return steps[name as keyof Part];
        const value = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  return {
    isDead: () => isDead,
    log: proxy<EventLog>(log, { append: step((entries: Parameters<EventLog['append']>[0]) => log.append(entries)) }),
    store: proxy(store, {
      apply: step((cut: Parameters<TreeStore['apply']>[0]) => store.apply(cut)),
      publish: step((cut: number, notes: Parameters<TreeStore['publish']>[1]) => store.publish(cut, notes)),
    }),
    kept: proxy(kept, {
      add: (note: string) => {
        // From here on somebody may have it.
        roots.add(note);
        return step(() => kept.add(note))();
      },
    }),
  };
}

test('no crash at any step makes two histories', async () => {
  const random = randomFor('kills');
  const log = await openLog(folder, 3);
  const [seed, roots, kept] = [new Seed(), new SignedRoots(), new SignedNotes()];
  seed.org('org-0');
  let [trees, events] = [openTrees(folder, log.id), 0];
  const kills = scaled(50, 500);
  for (let killed = 0; killed < kills; ) {
    let left = random.whole(1, 24);
    const parts = mortal(log, watched(trees, roots), kept, roots, () => {
      left -= 1;
      return left === 0;
    });
    const sealer = sealerFor(parts.log, parts.store, { kept: parts.kept });
    await sealing(sealer, async () => {
      while (!parts.isDead()) {
        events += await appendSome(log, random, seed, 10, events);
        await Promise.race([allPublished(sealer, log), until(parts.isDead)]);
      }
    });
    killed += 1;
    if (!random.chance(0.1)) continue;
    await trees.close();
    rmSync(join(folder, 'tlog.db'));
    trees = openTrees(folder, log.id);
  }
  const last = sealerFor(log, watched(trees, roots), { kept });
  await sealing(last, () => allPublished(last, log));

  expect(last.status.diverged).toBeUndefined();
  const checked = await roots.check(trees, last.origins);
  expect(checked).toBeGreaterThan(kills);
  tell(`${kills} kills, ${checked} signed checkpoints`);
  await trees.close();
  await log.close();
});

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 2));
}
