import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { emptyFold } from '../../src/control/fold.js';
import { readRange } from '../../src/event-log/read-range.js';
import { LeafMaker, NotSealable, type Sealable } from '../../src/sealing/leaves.js';
import { leafHash, sha256 } from '../../src/tlog/hash.js';
import { CompactRange } from '../../src/tlog/merkle.js';
import { openLog } from '../support/sealing.js';
import { copyOfLog, FIXTURES, fixture } from './log-answers.js';

/** The leaves of a log, with a secret that every run shares. */
interface Golden {
  /** Of every organization: its leaves, and the root over them, in base64. */
  readonly orgs: Readonly<Record<string, { readonly size: number; readonly root: string }>>;
  /** Of the records of `control`, and the unreadable ones of `audit`, up to the first that a later version must read. */
  readonly digest: string;
  readonly unreadable: number;
}

/**
 * Proofs that were given away rest on these: neither the file nor this test may be changed to make it pass. Whoever changes
 * the text of a derived event, or what makes a leaf, needs a new version of the records.
 */
test.each(FIXTURES)('the leaves of %s are those that were signed', async (name) => {
  const expected = JSON.parse(readFileSync(join(fixture(name), 'golden.json'), 'utf8')) as Golden;

  expect(await goldenOf(name)).toEqual(expected);
});

async function goldenOf(name: string): Promise<Golden> {
  const sealed = await sealablesOf(name);
  const trees = new Map<string, CompactRange>();
  for (const { org, entry } of sealed.flatMap(({ leaves }) => leaves)) {
    const tree = trees.get(org) ?? new CompactRange();
    trees.set(org, tree);
    tree.append(leafHash(entry));
  }
  const heads = Array.from(trees, ([org, tree]) => {
    return [org, { size: tree.size, root: tree.root().toString('base64') }] as const;
  });
  return {
    orgs: Object.fromEntries(heads),
    digest: sha256(Buffer.concat(sealed.flatMap(({ digest }) => digest ?? []))).toString('base64'),
    unreadable: sealed.filter(({ isUnreadable }) => isUnreadable).length,
  };
}

async function sealablesOf(name: string): Promise<Sealable[]> {
  const dataDir = copyOfLog(name);
  const log = await openLog(dataDir);
  const leaves = new LeafMaker(Buffer.alloc(32, 'secret of the fixtures'), emptyFold());
  const sealed: Sealable[] = [];
  for (const topic of ['control', 'audit'] as const) {
    const end = await log.head(topic);
    try {
      for await (const { records } of readRange(log, topic, {}, end, AbortSignal.timeout(60_000))) {
        for (const record of records) sealed.push(leaves.of(record));
      }
    } catch (error) {
      // The fixtures have a record of a later version.
      if (!(error instanceof NotSealable)) throw error;
    }
  }
  await log.close();
  rmSync(dataDir, { recursive: true });
  return sealed;
}
