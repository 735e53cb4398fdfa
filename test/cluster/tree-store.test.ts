import { TreeDiverged, TreesLost } from '../../src/tree-store/tree-store.js';
import { type BreakingElasticsearch, TreeStores } from '../contract/elasticsearch-trees.harness.js';
import { settled } from '../contract/harness.js';
import { all, bytes, cutOf, headOf, treeStoreContract } from '../contract/tree-store.contract.js';
import { clusterSuite } from './support.js';

const LOG = 'a-log';

/** Of a history in which `acme` has one more leaf each cut, and each cut a new organization. */
function cut(n: number) {
  return cutOf(LOG, n, {
    heads: [headOf(0, 'acme', n, n), ...(n > 1 ? [headOf(n - 1, `org-${n}`, 1, n)] : [])],
    bundles: [
      { tree: 'service', n: 0, bytes: bytes(1, 34 * n) },
      { tree: 0, n: 0, bytes: bytes(2, 43 * n) },
    ],
    places: [{ topic: 'audit', partition: 0, page: 0, bytes: bytes(3, 10 * n) }],
  });
}

const notes = (n: number) =>
  new Map<'service' | number, string>([
    ['service', `service ${n}`],
    [0, `acme ${n}`],
  ]);

clusterSuite('trees of the cluster', ({ elasticsearchUrl }) => {
  treeStoreContract('elasticsearch', async () => new TreeStores(elasticsearchUrl));

  const it = (name: string, body: (stores: TreeStores) => Promise<void>) =>
    test(name, async () => {
      const stores = new TreeStores(elasticsearchUrl);
      await body(stores).finally(() => stores.destroy());
    });

  /** What readers see: the heads as of the last applied cut, and the notes as of the last published one. */
  async function seen({ store }: ReturnType<TreeStores['open']>): Promise<object> {
    const heads = await all(store.heads());
    const [service, acme] = [await store.published('service'), await store.published(0)];
    return { n: (await store.progress())?.n, heads, acme: await store.head('acme'), notes: [service, acme] };
  }

  const whole = (n: number) => ({
    n,
    heads: [
      headOf(0, 'acme', n, n),
      ...Array.from({ length: n - 1 }, (_, at) => headOf(at + 1, `org-${at + 2}`, 1, at + 2)),
    ],
    acme: headOf(0, 'acme', n, n),
    notes: [
      { note: `service ${n}`, cut: n },
      { note: `acme ${n}`, cut: n },
    ],
  });

  /** Does the work once for each of its requests, which fails, as do all after it; returns in how many. */
  async function brokenAtEach(
    es: BreakingElasticsearch,
    work: () => Promise<void>,
    check: () => Promise<void>,
  ): Promise<number> {
    let breaks = 0;
    for (const when of ['before', 'after'] as const) {
      for (let at = 0; ; at += 1, breaks += 1) {
        es.break({ at, when });
        const outcome = await settled(work());
        es.break(undefined);
        await check();
        if (!('error' in outcome)) break;
      }
    }
    return breaks;
  }

  it('shows nothing of a cut or of a publication of which a part is stored', async (stores) => {
    const [writer, reader] = [stores.open(), stores.reader()];
    await writer.store.apply(cut(1));
    await writer.store.publish(1, notes(1));
    expect(await seen(reader)).toEqual(whole(1));

    const isOld = async () => {
      const { n, heads, acme } = (await seen(reader)) as ReturnType<typeof whole>;
      const { heads: expected, acme: head } = whole(n);
      expect([heads, acme]).toEqual([expected, head]);
      expect((await reader.store.bundle(0, 0))?.subarray(0, 43)).toEqual(bytes(2, 43));
    };
    expect(await brokenAtEach(writer.es, () => writer.store.apply(cut(2)), isOld)).toBeGreaterThan(3);
    const isOneOf = async () => {
      const { notes: found } = (await seen(reader)) as ReturnType<typeof whole>;
      expect([whole(1).notes, whole(2).notes]).toContainEqual(found);
    };
    expect(await brokenAtEach(writer.es, () => writer.store.publish(2, notes(2)), isOneOf)).toBeGreaterThan(3);
    expect(await seen(reader)).toEqual(whole(2));
  });

  it('lets another writer complete what a dead one began, wherever it died', async (stores) => {
    const [writer, reader] = [stores.open(), stores.reader()];
    await writer.store.apply(cut(1));
    await writer.store.publish(1, notes(1));
    let n = 1;
    for (const when of ['before', 'after'] as const) {
      for (let at = 0; at < 12; at += 1) {
        const [dead, next] = [stores.open(), stores.open()];
        dead.es.break({ at, when });
        n += 1;
        await settled(dead.store.apply(cut(n)).then(() => dead.store.publish(n, notes(n))));
        await next.store.apply(cut(n));
        await next.store.publish(n, notes(n));
        expect(await seen(reader)).toEqual(whole(n));
      }
    }
  });

  it('replaces nothing newer when a writer comes late', async (stores) => {
    const [late, writer, reader] = [stores.open(), stores.open(), stores.reader()];
    await late.store.apply(cut(1));
    for (const n of [2, 3]) {
      await writer.store.apply(cut(n));
      await writer.store.publish(n, notes(n));
    }
    for (const n of [1, 2, 3]) {
      await late.store.apply(cut(n));
      await late.store.publish(n, notes(n));
      expect(await seen(reader)).toEqual(whole(3));
    }
    await expect(late.store.apply({ ...cut(2), bundles: [{ tree: 0, n: 0, bytes: bytes(7, 86) }] })).rejects.toThrow(
      TreeDiverged,
    );
  });

  it('replaces nothing newer with a request that was held up, whichever it was', async (stores) => {
    const [late, writer] = [stores.open(), stores.open()];
    await late.store.apply(cut(1));
    const until = async (n: number) => {
      for (const next of [n, n + 1]) {
        await writer.store.apply(cut(next));
        await writer.store.publish(next, notes(next));
      }
    };
    let [n, held] = [2, true];
    for (let at = 0; held; at += 1, n += 2) {
      held = false;
      const hold = async () => {
        held = true;
        await until(n);
      };
      late.es.break({ at, when: 'before', until: hold });
      await late.store.apply(cut(n));
      await late.store.publish(n, notes(n));
      late.es.break(undefined);
      if (!held) await until(n);
      expect(await seen(stores.reader())).toEqual(whole(n + 1));
      await late.store.progress();
    }
    expect(n).toBeGreaterThan(10);
  });

  it('keeps one history when several writers apply the same cuts at once', async (stores) => {
    const writers = Array.from({ length: 4 }, () => stores.open());
    await stores.store.apply(cut(1));
    await Promise.all(
      writers.map(async ({ store }) => {
        for (let n = 1; n <= 15; n += 1) {
          await store.apply(cut(n));
          await store.publish(n, notes(n));
        }
      }),
    );

    expect(await seen(stores.reader())).toEqual(whole(15));
  });

  it('notices that the index was lost, and takes everything again', async (stores) => {
    const [writer, other, reader] = [stores.open(), stores.open(), stores.reader()];
    stores.hasCuts = true;
    for (const n of [1, 2]) {
      await writer.store.apply(cut(n));
      await writer.store.publish(n, notes(n));
    }
    expect(await seen(reader)).toEqual(whole(2));
    await stores.wipe();

    for (const read of [
      () => reader.store.published(0),
      () => reader.store.bundle(0, 0),
      () => all(reader.store.heads()),
    ]) {
      await expect(read()).rejects.toThrow(TreesLost);
    }
    await expect(writer.store.apply(cut(3))).rejects.toThrow(TreesLost);
    expect(await other.store.progress()).toBeUndefined();
    await other.store.apply(cut(1));
    // Neither the one that knew more, nor one that begins, takes what is made again for all there is.
    for (const { store } of [reader, stores.reader()]) await expect(store.published(0)).rejects.toThrow(TreesLost);
    await expect(writer.store.apply(cut(3))).rejects.toThrow(TreesLost);
    expect(await writer.store.progress()).toMatchObject({ n: 1 });
    for (const n of [2, 3]) await writer.store.apply(cut(n));
    await writer.store.publish(3, notes(3));
    expect(await seen(reader)).toEqual(whole(3));
  });

  it('writes nothing into an index that was made in the place of a lost one', async (stores) => {
    const [writer, other] = [stores.open(), stores.open()];
    await writer.store.apply(cut(1));
    await stores.wipe();
    await other.store.progress();

    await expect(writer.store.apply(cut(2))).rejects.toThrow(TreesLost);
    expect(await other.store.progress()).toBeUndefined();
    expect(await other.store.bundle(0, 0)).toBeUndefined();
  });

  it('takes an index that another writer made only after it has read the progress', async (stores) => {
    const [writer, other] = [stores.open(), stores.open()];
    await writer.store.apply(cut(1));
    await stores.wipe();
    await other.store.progress();

    for (let time = 0; time < 3; time += 1) {
      await expect(writer.store.head('acme')).rejects.toThrow(TreesLost);
      await expect(all(writer.store.heads())).rejects.toThrow(TreesLost);
      await expect(writer.store.apply(cut(2))).rejects.toThrow(TreesLost);
    }
    expect(await writer.store.progress()).toBeUndefined();
    expect(await writer.store.head('acme')).toBeUndefined();
  });

  it('has an index for each log', async (stores) => {
    await stores.open().store.apply(cut(1));
    const another = stores.open('another-log');

    expect(await another.store.progress()).toBeUndefined();
    await another.store.apply({ ...cut(1), log: 'another-log' });
    expect(await stores.open().store.progress()).toMatchObject({ log: LOG, n: 1 });
  });

  it('refuses calls with read_model_unavailable while Elasticsearch is away', async (stores) => {
    const { store } = stores.open();
    await store.apply(cut(1));
    const away = { code: 'read_model_unavailable', message: expect.stringContaining('cannot be reached') };
    const gone = new TreeStores('http://127.0.0.1:9').store;

    await expect(gone.bundle(0, 0)).rejects.toMatchObject(away);
    await expect(gone.apply(cut(1))).rejects.toMatchObject(away);
  });
});
