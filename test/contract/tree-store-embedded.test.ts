import { existsSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { EmbeddedTreeStore } from '../../src/tree-store/embedded/tree-store.js';
import { temporaryFolder } from './embedded.harness.js';
import { type TreeStoreHarness, treeStoreContract } from './tree-store.contract.js';

const LOG = 'a-log';

async function openEmbedded(): Promise<TreeStoreHarness> {
  const folder = await temporaryFolder();
  const open = () => EmbeddedTreeStore.open({ file: join(folder, 'tlog.db'), log: LOG, onReplaced: unexpected });
  let store = open();
  return {
    get store() {
      return store;
    },
    log: LOG,
    reopen: async () => {
      await store.close();
      store = open();
      return store;
    },
    destroy: async () => {
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
}

function unexpected(reason: string): never {
  throw new Error(`the store was replaced: ${reason}`);
}

treeStoreContract('embedded', openEmbedded);

describe('embedded tree store', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await temporaryFolder();
  });
  afterEach(() => rm(folder, { recursive: true }));

  test('sets the file of another log aside, which only its owner can read', async () => {
    const file = join(folder, 'tlog.db');
    const reasons: string[] = [];
    for (const log of ['first', 'second']) {
      const store = EmbeddedTreeStore.open({ file, log, onReplaced: (reason) => reasons.push(reason) });
      if (log === 'second') expect(await store.published('service')).toBeUndefined();
      await store.publish(1, new Map([['service', log]]));
      await store.close();
    }

    expect(reasons).toEqual(['it was made from another log']);
    expect(existsSync(`${file}.replaced`)).toBe(true);
    expect(statSync(file).mode & 0o077).toBe(0);
  });
});
