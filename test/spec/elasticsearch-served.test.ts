import { type Elasticsearch, ElasticsearchFault } from '../../src/platform/elasticsearch.js';
import type { Catalog } from '../../src/read-model/elasticsearch/catalog.js';
import { Names } from '../../src/read-model/elasticsearch/names.js';
import { Served, type View } from '../../src/read-model/elasticsearch/reader.js';
import { KEEP_ALL } from '../../src/read-model/retention.js';

const names = new Names('test-');
const REPLACED = { status: 404, type: 'generation_replaced' };
const LOST = { status: 503, type: 'index_lost' };
const FILLING = { status: 503, type: 'generation_filling', message: expect.stringContaining('because it was lost') };

interface Item {
  readonly _index: string;
  readonly _id: string;
}

describe('who vouches for reads of Elasticsearch', () => {
  let live: { generation: number; months: string[]; isOpen: boolean };
  let missing: Set<string>;
  let asked: string[][];
  let told: (readonly string[])[];
  let served: Served;

  const answerTo = ({ _index, _id }: Item) => {
    if (_index !== names.liveProgress) {
      return missing.has(_index) ? { _index, error: { type: 'index_not_found_exception' } } : { _index, found: true };
    }
    const { generation, months, isOpen } = live;
    const _source = { value: { months, isOpen, goal: {}, reason: 'it was lost' } };
    return { _index: names.progress(generation), found: true, ...(_id === 'manifest' && { _source }) };
  };

  beforeEach(() => {
    live = { generation: 1, months: ['2026.01'], isOpen: true };
    [missing, asked, told] = [new Set(), [], []];
    const request = async (_method: string, _path: string, { body }: { body: { docs: Item[] } }) => {
      asked.push(body.docs.map(({ _index }) => _index).filter((index) => index !== names.liveProgress));
      return { docs: body.docs.map(answerTo) };
    };
    const es = { request } as unknown as Elasticsearch;
    const parts = { es, catalog: { names } as unknown as Catalog, retention: KEEP_ALL };
    served = new Served(parts, async (_generation, lost) => void told.push(lost));
  });

  const listed = (meanwhile = () => {}) =>
    served.read(async (view) => {
      const indices = view.indicesOf('auditevent');
      meanwhile();
      return indices;
    });
  const certain = (view: View) => {
    view.isCertain = true;
    return Promise.resolve('found');
  };

  it('examines after a read the indices that it relied on, and those alone', async () => {
    const month = names.month(1, '2026.01');
    expect(await listed()).toEqual([month]);
    expect(asked).toEqual([[], [month]]);
    await listed();
    expect(asked).toEqual([[], [month], [month]]);
  });

  it('asks nothing more about what holds in any case', async () => {
    await served.read(certain);
    expect(await served.read(certain)).toBe('found');
    expect(asked).toEqual([[]]);
  });

  it('examines once for reads that end while it examines for another', async () => {
    await listed();
    asked = [];
    await Promise.all(Array.from({ length: 10 }, () => listed()));
    expect(asked.length).toBeLessThanOrEqual(2);
  });

  it('has a read repeated that saw another generation, or not every month', async () => {
    const replace = () => {
      live = { ...live, generation: 2 };
    };
    const add = () => {
      live = { ...live, months: ['2026.01', '2026.02'] };
    };
    await expect(listed(replace)).rejects.toMatchObject(REPLACED);
    expect(await listed()).toEqual([names.month(2, '2026.01')]);
    await expect(listed(add)).rejects.toMatchObject(REPLACED);
    expect(await listed()).toEqual([names.month(2, '2026.01'), names.month(2, '2026.02')]);
  });

  it('refuses what was read while an index was lost, and tells which', async () => {
    const month = names.month(1, '2026.01');
    await expect(listed(() => missing.add(month))).rejects.toMatchObject(LOST);
    expect(told).toEqual([[month]]);
    await expect(served.read((view) => Promise.resolve(view.touch(names.keys(1))))).resolves.toBe(names.keys(1));
  });

  it('finds nothing missing in a month that has no documents, or none any more', async () => {
    const month = names.month(1, '2026.01');
    const other = names.month(1, '1999.12');
    missing.add(other);
    await expect(served.read((view) => Promise.resolve(view.touch(other)))).resolves.toBe(other);
    await listed(() => {
      missing.add(month);
      live = { ...live, months: [] };
    });
    expect(told).toEqual([]);
  });

  it('examines the generation too when an index of the read was not there', async () => {
    const month = names.month(1, '2026.01');
    const missed = served.read(async (view) => {
      missing.add(view.touch(month));
      throw new ElasticsearchFault('no such index', 404, 'index_not_found_exception');
    });
    await expect(missed).rejects.toMatchObject(LOST);
    expect(told).toEqual([[month]]);
  });

  it('reads nothing of a generation that is being filled, and says why it is', async () => {
    live = { ...live, isOpen: false };
    let reads = 0;
    const read = () =>
      served.read(async () => {
        reads += 1;
      });
    await expect(read()).rejects.toMatchObject(FILLING);
    live = { ...live, isOpen: true };
    await read();
    expect(reads).toBe(1);
  });
});
