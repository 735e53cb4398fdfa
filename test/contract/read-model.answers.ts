import type { Generation, ReadModel } from '../../src/read-model/read-model.js';
import {
  allItems,
  controlPlace,
  event,
  idAt,
  NEWEST_FIRST,
  none,
  ORG,
  pages,
  place,
  put,
  remove,
  search,
} from './read-model.harness.js';

/** Events with duplicates and late times from two topics, and accounts of which one is deleted; answers a cursor's place. */
export async function fill(model: Generation): Promise<number> {
  for (let n = 0; n < 60; n += 1) {
    const at = place(n, { partition: n % 3 });
    const late = { eventTime: n % 5 === 0 ? 0 : 1000 + n, contextName: `ctx${n % 4}` };
    await model.apply('audit', [event(n, { place: at, fields: late, hash: 'h' })], { [n % 3]: n + 1 });
    await model.apply(
      'audit',
      [event(n, { place: { ...at, offset: n + 100 }, fields: late, hash: n % 2 ? 'h' : 'i' })],
      none,
    );
  }
  const control = [put('robot', 1), put('gone', 2), event(70, { place: controlPlace(3) }), remove('gone', 4)];
  await model.apply('control', control, { 0: 5 });
  await model.refresh();
  return 25;
}

/** What the model answers to all kinds of questions. */
export async function answersOf(model: ReadModel, deepest: number) {
  const list = await pages(model, { limit: 7, order: NEWEST_FIRST });
  return {
    events: list.flatMap(({ items }) => items),
    cursors: list.map(({ cursor }) => cursor),
    filtered: (await search(model, { filters: [{ field: 'contextName', op: '=', value: 'ctx1' }] })).items,
    passed: (await search(model, { offset: deepest, limit: 5 })).items,
    received: await allItems(model, { limit: 7, order: 'received' }),
    accounts: (await search(model, {}, 'serviceaccount')).items,
    count: [...(await model.count('auditevent', ORG))],
    one: await model.get('auditevent', ORG, idAt(5)),
  };
}
