import {
  type AppliedCut,
  type OrgHead,
  PLACE_BYTES,
  TreeDiverged,
  type TreeStore,
} from '../../src/tree-store/tree-store.js';

export interface TreeStoreHarness {
  readonly store: TreeStore;
  /** Identifier of the log that the store is for. */
  readonly log: string;
  /** Closes the store and opens it again. */
  reopen(): Promise<TreeStore>;
  destroy(): Promise<void>;
}

/** What every adapter of `TreeStore` promises. `open` makes an empty store. */
export function treeStoreContract(name: string, open: () => Promise<TreeStoreHarness>): void {
  describe(`tree store contract: ${name}`, () => {
    let harness: TreeStoreHarness;
    beforeEach(async () => {
      harness = await open();
    });
    afterEach(() => harness.destroy());
    const cut = (n: number, parts: Partial<AppliedCut> = {}) => cutOf(harness.log, n, parts);

    test('has nothing before the first cut', async () => {
      const { store } = harness;

      expect(await store.progress()).toBeUndefined();
      expect(await all(store.heads())).toEqual([]);
      expect(await store.head('acme')).toBeUndefined();
      expect(await store.bundle('service', 0)).toBeUndefined();
      expect(await store.tile(0, 1, 0)).toBeUndefined();
      expect(await store.page('audit', 0, 0)).toBeUndefined();
      expect(await store.published('service')).toBeUndefined();
    });

    test('returns what a cut stored, also after it was closed and opened', async () => {
      const heads = [headOf(0, 'acme', 3), headOf(1, 'Zürich/org', 1)];
      const applied = cut(1, {
        heads,
        next: { 'audit/0': 3, 'control/0': 1 },
        offset: 7,
        memo: '{"a":"ü"}',
        bundles: [
          { tree: 'service', n: 0, bytes: bytes(1, 90) },
          { tree: 0, n: 0, bytes: bytes(2, 129) },
          { tree: 1, n: 70_000, bytes: bytes(3, 43) },
        ],
        tiles: [{ tree: 0, level: 2, n: 1, bytes: bytes(4, 64) }],
        places: [{ topic: 'control', partition: 0, page: 5, bytes: bytes(5, 2 * PLACE_BYTES) }],
      });
      await harness.store.apply(applied);

      for (const reopened of [false, true]) {
        const store = reopened ? await harness.reopen() : harness.store;
        const { log, n, hash, next, offset, memo } = applied;
        expect(await store.progress()).toEqual({ log, n, hash, next, offset, memo });
        expect(await all(store.heads())).toEqual(heads);
        expect(await store.head('Zürich/org')).toEqual(heads[1]);
        expect(await store.bundle('service', 0)).toEqual(bytes(1, 90));
        expect(await store.bundle(0, 0)).toEqual(bytes(2, 129));
        expect(await store.bundle(1, 70_000)).toEqual(bytes(3, 43));
        expect(await store.tile(0, 2, 1)).toEqual(bytes(4, 64));
        expect(await store.tile(0, 1, 1)).toBeUndefined();
        expect(await store.page('control', 0, 5)).toEqual(bytes(5, 2 * PLACE_BYTES));
        expect(await store.page('audit', 0, 5)).toBeUndefined();
      }
    });

    test('lets cells and heads grow, and keeps those that a later cut does not name', async () => {
      const { store } = harness;
      await store.apply(
        cut(1, {
          heads: [headOf(0, 'acme', 1), headOf(1, 'devs', 1)],
          bundles: [0, 1].map((tree) => ({ tree, n: 0, bytes: bytes(tree, 43) })),
          places: [{ topic: 'audit', partition: 0, page: 0, bytes: bytes(9, PLACE_BYTES) }],
        }),
      );
      await store.apply(
        cut(2, {
          heads: [headOf(1, 'devs', 2, 2)],
          bundles: [{ tree: 1, n: 0, bytes: bytes(1, 86) }],
          places: [{ topic: 'audit', partition: 0, page: 0, bytes: bytes(9, 4 * PLACE_BYTES) }],
        }),
      );

      expect(await all(store.heads())).toEqual([headOf(0, 'acme', 1), headOf(1, 'devs', 2, 2)]);
      expect(await store.bundle(0, 0)).toEqual(bytes(0, 43));
      expect(await store.bundle(1, 0)).toEqual(bytes(1, 86));
      expect(await store.page('audit', 0, 0)).toEqual(bytes(9, 4 * PLACE_BYTES));
      expect(await store.progress()).toMatchObject({ n: 2 });
    });

    test('takes the same cut again', async () => {
      const { store } = harness;
      const again = cut(1, { heads: [headOf(0, 'acme', 1)], bundles: [{ tree: 0, n: 0, bytes: bytes(0, 43) }] });
      await store.apply(again);
      await store.apply(again);

      expect(await store.progress()).toMatchObject({ n: 1 });
      expect(await all(store.heads())).toEqual([headOf(0, 'acme', 1)]);
    });

    describe('refuses with TreeDiverged, and moves nothing', () => {
      const cell = { tree: 0, n: 0, bytes: bytes(0, 86) };
      const page = { topic: 'audit', partition: 0, page: 0, bytes: bytes(2, 2 * PLACE_BYTES) };
      const tile = { tree: 0, level: 1, n: 0, bytes: bytes(3, 64) };
      const altered = (source: Uint8Array, at: number) => {
        const copy = Buffer.from(source);
        copy[at] = (copy[at] ?? 0) ^ 1;
        return Buffer.concat([copy, bytes(7, 43)]);
      };
      test.each<[string, Partial<AppliedCut>]>([
        ['an altered entry', { bundles: [{ ...cell, bytes: altered(cell.bytes, 85) }] }],
        ['a shorter bundle', { bundles: [{ ...cell, bytes: cell.bytes.subarray(0, 43) }] }],
        ['an altered tile', { tiles: [{ ...tile, bytes: altered(tile.bytes, 0) }] }],
        ['an altered place', { places: [{ ...page, bytes: altered(page.bytes, 4) }] }],
        ['an organization under the number of another', { heads: [headOf(0, 'other', 3, 2)] }],
        ['an organization that has shrunk', { heads: [headOf(0, 'acme', 1, 2)] }],
      ])('%s', async (_name, parts) => {
        const { store } = harness;
        await store.apply(cut(1, { heads: [headOf(0, 'acme', 2)], bundles: [cell], tiles: [tile], places: [page] }));

        await expect(store.apply(cut(2, parts))).rejects.toThrow(TreeDiverged);
        expect(await store.progress()).toMatchObject({ n: 1 });
        expect(await store.head('acme')).toEqual(headOf(0, 'acme', 2));
        expect(await store.bundle(0, 0)).toEqual(cell.bytes);
      });

      test.each([1, 3])('cut %i that does not follow cut 1', async (n) => {
        const { store } = harness;
        await store.apply(cut(1));

        await expect(store.apply(cut(n, { hash: bytes(9, 32) }))).rejects.toThrow(TreeDiverged);
        expect(await store.progress()).toMatchObject({ n: 1, hash: cut(1).hash });
      });
    });

    test('publishes notes of trees, which stay until others take their place', async () => {
      await harness.store.apply(cut(1));
      await harness.store.publish(
        1,
        new Map<'service' | number, string>([
          ['service', 'note 1'],
          [0, 'acme 1\n\n— ü\n'],
        ]),
      );
      await harness.store.publish(2, new Map([['service', 'note 2']]));

      for (const reopened of [false, true]) {
        const store = reopened ? await harness.reopen() : harness.store;
        expect(await store.published('service')).toEqual({ note: 'note 2', cut: 2 });
        expect(await store.published(0)).toEqual({ note: 'acme 1\n\n— ü\n', cut: 1 });
        expect(await store.published(1)).toBeUndefined();
      }
    });

    test('returns the heads of many organizations in the order of their numbers', async () => {
      const heads = Array.from({ length: 1_200 }, (_, number) => headOf(number, `org-${1_200 - number}`, 1));
      await harness.store.apply(cut(1, { heads }));

      const found = await all(harness.store.heads());
      expect(found.map(({ org }) => org)).toEqual(heads.map(({ org }) => org));
    });
  });
}

export async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

export function cutOf(log: string, n: number, parts: Partial<AppliedCut>): AppliedCut {
  const nothing = { heads: [], bundles: [], tiles: [], places: [] };
  return { log, n, hash: bytes(n, 32), next: {}, offset: n, memo: '', ...nothing, ...parts };
}

export function headOf(number: number, org: string, size: number, cut = 1): OrgHead {
  return { org, number, size, root: bytes(size, 32), cut, complete: 1_700_000_000_000, at: 1_700_000_000_005 };
}

/** Every byte and every seed differ from their neighbours. */
export function bytes(seed: number, length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, at) => (31 * seed + 7 * at + 1) & 0xff));
}
