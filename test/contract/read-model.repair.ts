import type { StoredDocument } from '../../src/read-model/document.js';
import { answersOf, fill } from './read-model.answers.js';
import {
  codes,
  controlPlace,
  documentOf,
  event,
  found,
  idAt,
  ids,
  type ModelCases,
  nextOf,
  none,
  ORG,
  place,
  put,
  remove,
  START,
  scan,
  search,
  store,
  strays,
  sweep,
} from './read-model.harness.js';

const received = { order: 'received' } as const;

export function repairCases(given: ModelCases): void {
  overwriteCases(given);
  removeCases(given);
}

function overwriteCases({ it }: ModelCases): void {
  it('overwrites a document, whatever was stored', async ({ model }) => {
    const right = event(3, { hash: 'h', fields: { contextName: 'billing', resourceName: 'cart' } });
    const wrong = { ...right, hash: 'x', fields: { contextName: 'shop', podId: 'p' }, source: '{"n":"wrong"}' };
    await store(model, [event(1), wrong]);

    await model.overwrite(right);
    await model.refresh();

    expect(await model.get('auditevent', ORG, idAt(3))).toEqual(documentOf(right));
    expect(await found(model)).toEqual([1, 3]);
    expect(await found(model, { field: 'resourceName', op: '=', value: 'cart' })).toEqual([3]);
    expect(await found(model, { field: 'podId', op: '=', value: 'p' })).toEqual([]);
    expect([...(await model.count('auditevent', ORG))]).toEqual([
      ['billing', 1],
      ['shop', 1],
    ]);
    expect((await scan(model)).map(({ id, hash }) => [id, hash])).toEqual([
      [idAt(1), undefined],
      [idAt(3), 'h'],
    ]);
  });

  it('writes a document that is missing', async ({ model }) => {
    await store(model, [event(0), event(2)]);

    await model.overwrite(event(1, { org: 'other', place: place(5, { partition: 3 }) }));
    await model.overwrite(event(1));
    await model.refresh();

    expect(ids((await search(model, received)).items)).toEqual([idAt(0), idAt(1), idAt(2)]);
    expect(ids((await search(model, { ...received, org: 'other' })).items)).toEqual([idAt(1)]);
    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 3]]));
    expect(await model.count('auditevent', 'other')).toEqual(new Map([['shop', 1]]));
  });

  it('moves a document to its position in the log, once', async ({ model }) => {
    await store(model, [event(0), event(9, { id: idAt(1), place: place(9, { partition: 1 }) }), event(2)]);

    await model.overwrite(event(1));
    await model.refresh();

    expect(ids((await search(model, received)).items)).toEqual([0, 1, 2].map((n) => idAt(n)));
    expect(ids(await scan(model))).toEqual([0, 1, 2].map((n) => idAt(n)));
    expect(await scan(model, { partition: 1 })).toEqual([]);
    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 3]]));
  });

  it('changes nothing when repeated, nor anything else', async ({ model }) => {
    const deepest = await fill(model);
    const [before, progress] = [await answersOf(model, deepest), await model.progress('audit')];
    const [first] = await scan(model, { partition: 2 });
    if (!first) throw new Error('there is nothing to write again');
    const { org, id, place: at, fields, source, hash } = first;
    const write = { op: 'create', kind: 'auditevent', org, id, place: at, fields, source } as const;
    for (let n = 0; n < 2; n += 1) await model.overwrite(hash === undefined ? write : { ...write, hash });
    await model.refresh();

    expect(await answersOf(model, deepest)).toEqual(before);
    expect(await model.progress('audit')).toEqual(progress);
  });

  it('compares later deliveries with what it wrote', async ({ model }) => {
    await store(model, [event(1, { hash: 'wrong' })]);
    await model.overwrite(event(1, { hash: 'h' }));
    const again = [event(1, { hash: 'h' }), event(5, { id: idAt(1), hash: 'h' }), event(6, { id: idAt(1), hash: 'i' })];

    expect(codes(await model.apply('audit', again, none))).toEqual(['applied', 'duplicate', 'conflict']);
  });

  it('writes puts and deletions, also older than the stored document', async ({ model }) => {
    await model.apply('control', [put('robot', 9), put('gone', 8), remove('back', 7)], none);

    await model.overwrite(put('robot', 4));
    await model.overwrite(remove('gone', 5));
    await model.overwrite(put('back', 6));
    await model.refresh();

    expect(await model.get('serviceaccount', ORG, 'robot')).toEqual(documentOf(put('robot', 4)));
    expect(await model.get('serviceaccount', ORG, 'gone')).toBeUndefined();
    expect(ids((await search(model, {}, 'serviceaccount')).items)).toEqual(['back', 'robot']);
    const late = [put('robot', 3), put('robot', 5), put('gone', 4), put('gone', 6)];
    expect(codes(await model.apply('control', late, none))).toEqual(['stale', 'applied', 'stale', 'applied']);
    expect(nextOf(await model.progress('control'), 0)).toEqual([0]);
  });

  it('restores no expired document', async ({ model, retention }) => {
    await store(
      model,
      [0, 1, 2, 3].map((n) => event(n)),
    );
    retention.setLimit(ORG, 'shop', START + 2);
    await sweep(model);

    await model.overwrite(event(1));
    await model.refresh();

    expect(await model.get('auditevent', ORG, idAt(1))).toBeUndefined();
    expect(await found(model)).toEqual([2, 3]);
    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 2]]));
  });

  it('keeps a document that replaced an expired one', async ({ model, retention }) => {
    const [old, anew] = [event(1), event(7, { id: idAt(1), hash: 'h' })];
    await store(model, [old]);
    retention.setLimit(ORG, 'shop', START + 2);
    await store(model, [anew]);

    await model.overwrite(old);
    await model.refresh();

    expect(await model.get('auditevent', ORG, idAt(1))).toEqual(documentOf(anew));
    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 1]]));
  });

  it('is swept like any other', async ({ model, retention }) => {
    await store(
      model,
      [0, 1, 2, 3].map((n) => event(n)),
    );
    retention.setLimit(ORG, 'shop', START + 1);
    await sweep(model);
    await model.overwrite(event(2, { fields: { podId: 'p' } }));
    retention.setLimit(ORG, 'shop', START + 3);
    await model.refresh();
    const counted = await model.count('auditevent', ORG);

    expect(await sweep(model)).toBe(2);
    expect(counted).toEqual(new Map([['shop', 1]]));
    expect(await model.count('auditevent', ORG)).toEqual(counted);
    expect(await found(model)).toEqual([3]);
  });
}

function removeCases({ it }: ModelCases): void {
  it('removes a document from every read, and nothing else', async ({ model }) => {
    await store(model, [
      event(0),
      event(1, { fields: { contextName: 'billing' } }),
      event(1, { org: 'other', place: controlPlace(3) }),
    ]);
    await model.remove('auditevent', await stored(model, idAt(1)));
    await model.refresh();

    expect(await model.get('auditevent', ORG, idAt(1))).toBeUndefined();
    expect(await found(model)).toEqual([0]);
    expect(ids((await search(model, received)).items)).toEqual([idAt(0)]);
    expect(ids(await scan(model))).toEqual([idAt(0)]);
    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 1]]));
    expect(await model.get('auditevent', 'other', idAt(1))).toBeDefined();
  });

  it('has no effect if the document is gone', async ({ model }) => {
    await store(model, [event(0), event(1)]);
    const document = await stored(model, idAt(1));
    for (let n = 0; n < 3; n += 1) await model.remove('auditevent', document);
    await store(model, [event(2)]);
    await model.remove('auditevent', document);
    await model.refresh();

    expect(await found(model)).toEqual([0, 2]);
    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 2]]));
  });

  it('frees the identifier', async ({ model }) => {
    await store(model, [event(1, { hash: 'h' })]);
    await model.remove('auditevent', await stored(model, idAt(1)));
    const anew = event(4, { id: idAt(1), hash: 'other' });

    expect(codes(await model.apply('audit', [anew], none))).toEqual(['applied']);
    expect(await model.get('auditevent', ORG, idAt(1))).toEqual(documentOf(anew));
  });

  it('removes a deletion, so that an older put is new again', async ({ model }) => {
    await model.apply('control', [put('robot', 1), remove('robot', 5)], none);
    await model.refresh();
    const [document] = await strays(model, 'serviceaccount', { control: { 0: 4 } });
    if (document) await model.remove('serviceaccount', document);

    expect(codes(await model.apply('control', [put('robot', 2)], none))).toEqual(['applied']);
    expect(await model.get('serviceaccount', ORG, 'robot')).toEqual(documentOf(put('robot', 2)));
  });

  it('counts correctly after the removal of an expired document', async ({ model, retention }) => {
    await store(
      model,
      [0, 1, 2, 3].map((n) => event(n)),
    );
    retention.setLimit(ORG, 'shop', START + 2);
    const before = await model.count('auditevent', ORG);
    await model.remove('auditevent', await stored(model, idAt(0)));
    await model.refresh();
    const after = await model.count('auditevent', ORG);

    expect(await sweep(model)).toBe(1);
    expect([before, after, await model.count('auditevent', ORG)]).toEqual(Array(3).fill(new Map([['shop', 2]])));
  });
}

async function stored(model: Parameters<typeof scan>[0], id: string): Promise<StoredDocument> {
  const document = (await scan(model)).find((one) => one.id === id);
  if (!document) throw new Error(`${id} is not stored`);
  return document;
}
