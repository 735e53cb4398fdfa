import { rm } from 'node:fs/promises';
import pino from 'pino';
import type { EventLog } from '../../src/event-log/event-log.js';
import { Witnesses } from '../../src/sealing/witnesses.js';
import { parseCheckpoint } from '../../src/tlog/checkpoint.js';
import { openNote, vkeyOf } from '../../src/tlog/note.js';
import { parsePolicy } from '../../src/tlog/policy.js';
import { nodesOf } from '../../src/tree-store/tree-nodes.js';
import type { TreeStore } from '../../src/tree-store/tree-store.js';
import { temporaryFolder } from '../contract/embedded.harness.js';
import { allPublished, eventOf, openLog, openTrees, SIGNER, sealerFor, sealing } from '../support/sealing.js';
import { withTool } from '../support/tools.js';
import { builtWitness, WitnessProcess } from '../support/witness.js';

const ORGS = ['acme', 'beta', 'gamma'];
const ORIGIN = 'test.example.com/audit/-tlog';

async function append(log: EventLog, from: number): Promise<void> {
  await log.append(ORGS.map((org, at) => eventOf(org, from + at)));
}

function sizeOf(note: string): number {
  return parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1)).size;
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Organizations whose published checkpoint is that of their last cut. */
async function current(store: TreeStore): Promise<string[]> {
  const found: string[] = [];
  for await (const { org, number, size } of store.heads()) {
    const published = await store.published(number);
    if (published && sizeOf(published.note) === size) found.push(org);
  }
  return found;
}

withTool('go', 'version')('a sealed log with two witnesses', () => {
  let folder: string;
  let witnesses: WitnessProcess[];
  beforeAll(async () => {
    folder = await temporaryFolder();
    const program = builtWitness();
    const vkey = vkeyOf(ORIGIN, SIGNER.publicKey);
    witnesses = await Promise.all(['one', 'two'].map((name) => new WitnessProcess(program, name, [vkey]).start()));
  });
  afterAll(async () => {
    await Promise.all(witnesses.map((witness) => witness.stop()));
    await rm(folder, { recursive: true });
  });

  it('publishes what both have cosigned, seals on while one is down, and then publishes the newest cut', async () => {
    const log = await openLog(folder);
    const store = openTrees(folder, log.id);
    const lines = witnesses.map(({ name, vkey, url }) => `witness ${name} ${vkey} ${url}`);
    const policy = parsePolicy([...lines, 'group both all one two', 'quorum both', ''].join('\n'));
    const logger = pino({ level: 'silent' });
    const cosigner = new Witnesses(policy, (size) => nodesOf(store, 'service', size), logger);
    const sealer = sealerFor(log, store, { cosigner });
    const [, two] = witnesses;
    await sealing(sealer, async () => {
      for (let cut = 0; cut < 10; cut += 1) {
        await append(log, 10 * cut);
        await allPublished(sealer, log);
        const { note = '' } = (await store.published('service')) ?? {};
        const { signatures } = openNote(
          note,
          policy.witnesses.map(({ vkey }) => vkey),
        );
        expect(signatures.map(({ name }) => name).sort()).toEqual(['one.example', 'two.example']);
      }
      await two?.stop();
      const published = (await store.published('service'))?.cut ?? 0;
      for (let cut = 1; cut <= 5; cut += 1) {
        const before = (await store.progress())?.n ?? 0;
        await append(log, 1_000 * cut);
        await until(async () => ((await store.progress())?.n ?? 0) > before);
      }
      await until(async () => cosigner.missingMs > 0);
      expect((await store.published('service'))?.cut).toBe(published);
      expect(await current(store)).toEqual([]);
      await two?.start();
      await allPublished(sealer, log);
      expect(sizeOf((await store.published('service'))?.note ?? '')).toBe((await store.progress())?.n);
      expect(await current(store)).toEqual(ORGS);
      expect(cosigner.missingMs).toBe(0);
    });
    await store.close();
    await log.close();
  });
});
