import { join } from 'node:path';
import { Turns } from '../../src/platform/turns.js';
import { EmbeddedReadModel } from '../../src/read-model/embedded/read-model.js';
import type { SearchQuery } from '../../src/read-model/search.js';
import { FakeRecords, temporaryFolder } from './embedded.harness.js';
import { event, idAt, ids, NEWEST_FIRST, ORG, promote, search, store } from './read-model.harness.js';

const EVENTS = 20_000;
const RARE = { field: 'podId', op: '=', value: 'rare' } as const;
const NEVER = { field: 'podId', op: '=', value: 'never' } as const;
const ORDERS = [NEWEST_FIRST, 'received'] as const;

let folder = '';
let model: EmbeddedReadModel;

const some = (count: number) =>
  Array.from({ length: count }, (_, n) => event(n, { fields: { podId: n % 8_000 === 7 ? 'rare' : 'p' } }));

beforeAll(async () => {
  folder = await temporaryFolder();
  model = await EmbeddedReadModel.open({
    file: join(folder, 'read-model.db'),
    logId: 'log',
    records: new FakeRecords(),
    turns: new Turns(0),
  });
  await store(model, some(EVENTS));
});

afterAll(async () => {
  await model.close();
});

/** How often the event loop came round while something was under way. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const end = work.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    await new Promise((resolve) => setImmediate(resolve));
    turns += 1;
  }
  await end;
  return turns;
}

describe.each(ORDERS)('a search without an index (%s)', (order) => {
  test('finds all matches, and yields to other work meanwhile', async () => {
    const page = search(model, { order, filters: [RARE] });
    const turns = await turnsDuring(page);
    expect(ids((await page).items).toSorted()).toEqual([7, 8_007, 16_007].map((n) => idAt(n)));
    expect((await page).more).toBe(false);
    expect(turns).toBeGreaterThan(3);
  });

  test('is refused with too_costly when its budget is spent and the page is empty', async () => {
    const refused = search(model, { order, filters: [NEVER], budgetMs: 1 });
    await expect(refused).rejects.toMatchObject({ code: 'too_costly', message: expect.stringContaining('fromEvent') });
  });

  test('ends its page early when its budget is spent, and continues from there', async () => {
    const found: string[] = [];
    let query: Partial<SearchQuery> = { order, filters: [{ field: 'podId', op: '=', value: 'p' }], limit: 1000 };
    let pages = 0;
    for (let more = true; more && found.length < 3_000; pages += 1) {
      const page = await search(model, { ...query, budgetMs: 1 });
      expect(page.items.length).toBeGreaterThan(0);
      found.push(...ids(page.items));
      query = { ...query, ...(page.cursor && { cursor: page.cursor }) };
      more = page.more;
    }
    expect(pages).toBeGreaterThan(3);
    const whole = Array.from({ length: EVENTS }, (_, n) => n).filter((n) => n % 8_000 !== 7);
    const expected = order === 'received' ? whole : whole.toReversed();
    expect(found).toEqual(expected.slice(0, found.length).map((n) => idAt(n)));
  });
});

test('a search under way is repeated in the generation that replaces its own', async () => {
  const next = await model.begin();
  await next.apply('audit', [event(1, { fields: { podId: 'rare' } })], { 0: 2 });
  const page = model.search('auditevent', { org: ORG, filters: [RARE], order: NEWEST_FIRST, limit: 10 });
  await promote(next);
  expect(ids((await page).items)).toEqual([idAt(1)]);
});
