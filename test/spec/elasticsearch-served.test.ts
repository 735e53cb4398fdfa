import type { Catalog } from '../../src/read-model/elasticsearch/catalog.js';
import { Names } from '../../src/read-model/elasticsearch/names.js';
import { Served } from '../../src/read-model/elasticsearch/reader.js';

const names = new Names('test-');
const REPLACED = { status: 404, type: 'generation_replaced' };

describe('who vouches for reads of Elasticsearch', () => {
  let live: number;
  let asked: number;
  let served: Served;

  beforeEach(() => {
    [live, asked] = [1, 0];
    const requireFilled = async () => {
      asked += 1;
      return live;
    };
    served = new Served({ names, requireFilled } as unknown as Catalog);
  });

  const vouched = (vouch = served.begin(), generation?: number) =>
    vouch(generation === undefined ? undefined : names.month(generation, '2026.01'));

  it('has what was read before it knew of the generation read again', async () => {
    await expect(vouched()).rejects.toMatchObject(REPLACED);
    await vouched();
  });

  it('asks only for what was not found, or found elsewhere', async () => {
    await vouched().catch(() => undefined);
    asked = 0;
    await vouched(served.begin(), 1);
    expect(asked).toBe(0);
    await vouched(served.begin());
    expect(asked).toBe(1);
    live = 2;
    await expect(vouched(served.begin(), 2)).rejects.toMatchObject(REPLACED);
    await vouched(served.begin(), 2);
    expect(asked).toBe(2);
  });

  it('has what was read while a generation was filled read again, though another read has learned since that it is', async () => {
    const begunBefore = [served.begin(), served.begin()];
    await vouched(served.begin(), 1).catch(() => undefined);
    await expect(vouched(begunBefore[0])).rejects.toMatchObject(REPLACED);
    await expect(vouched(begunBefore[1], 1)).rejects.toMatchObject(REPLACED);
  });
});
