import { keyedId } from '../../src/platform/ids.js';
import { KINDS } from '../../src/read-model/kinds.js';
import { ask, type Handles, withHandles } from '../contract/elasticsearch.harness.js';
import { settled } from '../contract/harness.js';
import {
  codes,
  documentOf,
  event,
  found,
  idAt,
  ids,
  ORG,
  place,
  put,
  START,
  scan,
  search,
  store,
  sweep,
} from '../contract/read-model.harness.js';
import { clusterSuite } from './support.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const key = (n: number) => keyedId(ORG, 'shop', `key-${n}`);
const received = { order: 'received' } as const;

/** Event `n` of a day after the start, in whose month it is stored. */
const onDay = (day: number, n: number, id = idAt(day * DAY_MS + n)) =>
  event(n, { id, place: place(n, { time: START + day * DAY_MS + n }), hash: 'h' });

clusterSuite('months of a read model in Elasticsearch', ({ elasticsearchUrl }) => {
  const it = withHandles(elasticsearchUrl);

  it('completes at the next delivery an event of which only the pointer was written', async (handles) => {
    const model = await handles.open();
    const write = onDay(0, 1, key(1));
    await store(model, [write]);
    const { generation } = await model.progress('audit');
    await ask(
      handles.url,
      'DELETE',
      `/${handles.prefix}audit-events-${generation}-2026.01/_doc/${ORG}%2F${key(1)}?refresh=true`,
    );
    const without = await model.get('auditevent', ORG, key(1));

    expect(without).toBeUndefined();
    expect(codes(await model.apply('audit', [write], {}))).toEqual(['applied']);
    expect(await model.get('auditevent', ORG, key(1))).toEqual(documentOf(write));
    expect(codes(await model.apply('audit', [onDay(0, 2, key(1))], {}))).toEqual(['duplicate']);
  });

  it('meets a keyed event again in another month', async (handles) => {
    const model = await handles.open();
    await store(model, [onDay(0, 1, key(1))]);
    const later = onDay(40, 2, key(1));

    expect(codes(await model.apply('audit', [later, { ...later, hash: 'other' }], {}))).toEqual([
      'duplicate',
      'conflict',
    ]);
    await model.refresh();
    expect(await found(model)).toEqual([1]);
  });

  it('frees a key whose event has expired, also for another month', async (handles) => {
    const model = await handles.open();
    await store(model, [onDay(0, 1, key(1)), onDay(0, 2, key(2))]);
    handles.retention.setLimit(ORG, 'shop', START + DAY_MS);
    const anew = onDay(40, 3, key(1));

    expect(codes(await model.apply('audit', [{ ...anew, hash: 'other' }], {}))).toEqual(['applied']);
    await model.refresh();
    expect(await found(model)).toEqual([3]);
    expect((await model.get('auditevent', ORG, key(1)))?.source).toBe(anew.source);
    expect(await model.get('auditevent', ORG, key(2))).toBeUndefined();
    expect(await sweep(model)).toBe(2);
    expect(ids(await scan(model))).toEqual([key(1)]);
    const { generation } = await model.progress('audit');
    const keys = await ask<{ count: number }>(handles.url, 'GET', `/${handles.prefix}audit-keys-${generation}/_count`);
    // One is the mark of the index.
    expect(keys.count).toBe(2);
  });

  it('finds a keyed event that is misplaced, and puts it right', async (handles) => {
    const model = await handles.open();
    const write = onDay(0, 1, key(1));
    await store(model, [write]);
    const { generation } = await model.progress('audit');
    await ask(handles.url, 'DELETE', `/${handles.prefix}audit-keys-${generation}/_doc/${ORG}%2F${key(1)}`);
    const [lost] = await scan(model);
    await model.overwrite(write);
    await model.overwrite(onDay(40, 1, key(1)));
    await model.refresh();

    expect(lost).toMatchObject({ id: key(1), misplaced: true });
    expect((await scan(model)).map(({ misplaced, location }) => [misplaced, location.includes('2026.02')])).toEqual([
      [false, true],
    ]);
    expect(await model.get('auditevent', ORG, key(1))).toEqual(documentOf(onDay(40, 1, key(1))));
  });

  it('tells copies of one event in two months apart, and removes the one that reads do not find', async (handles) => {
    const model = await handles.open();
    const write = onDay(0, 1);
    await store(model, [write, onDay(40, 2)]);
    const { generation } = await model.progress('audit');
    const index = `/${handles.prefix}audit-events-${generation}-2026`;
    const { _source } = await ask<{ _source: object }>(handles.url, 'GET', `${index}.01/_doc/${ORG}%2F${write.id}`);
    await ask(handles.url, 'PUT', `${index}.02/_doc/${ORG}%2F${write.id}?refresh=true`, _source);
    const copies = (await scan(model, { limit: 1 })).filter(({ id }) => id === write.id);
    for (const copy of copies) if (copy.misplaced) await model.remove('auditevent', copy);
    await model.refresh();

    expect(copies.map(({ misplaced }) => misplaced)).toEqual([false, true]);
    expect(ids(await scan(model))).toEqual([write.id, onDay(40, 2).id]);
    expect(await found(model)).toEqual([1, 2]);
  });

  it('drops the months that retention has emptied, and takes late documents of them', async (handles) => {
    const model = await handles.open();
    const writes = [0, 20, 40, 80].map((day, n) => onDay(day, n));
    await store(model, [
      ...writes,
      event(9, { id: idAt(9), fields: { contextName: 'kept' }, place: place(9, { partition: 1 }) }),
    ]);
    handles.retention.setLimit(ORG, 'shop', START + 60 * DAY_MS);

    expect(await sweep(model)).toBe(3);
    expect(await months(handles)).toEqual(['2026.01', '2026.04']);
    expect(await found(model)).toEqual([3, 9]);
    const late = { ...onDay(25, 10), fields: { contextName: 'kept', eventTime: START } };
    expect(codes(await model.apply('audit', [late], {}))).toEqual(['applied']);
    await model.refresh();
    expect(await months(handles)).toEqual(['2026.01', '2026.02', '2026.04']);
    expect(await found(model)).toEqual([10, 3, 9]);
  });

  it('keeps every document that comes while a month is dropped', async (handles) => {
    const [model, other] = [await handles.open(), await handles.open()];
    for (let round = 0; round < 4; round += 1) {
      const old = Array.from({ length: 20 }, (_, n) => onDay(0, round * 1000 + n));
      await store(model, old);
      handles.retention.setLimit(ORG, 'shop', START + round * 1000 + 500);
      const kept = Array.from({ length: 20 }, (_, n) => ({
        ...onDay(1, round * 1000 + 100 + n),
        fields: { contextName: 'kept', eventTime: START },
      }));
      const writing = (async () => {
        for (const write of kept) while ('error' in (await settled(other.apply('audit', [write], {}))));
      })();
      await Promise.all([sweep(model), sweep(other), writing]);
      await other.refresh();
      const stored = await scan(model);
      expect(ids(stored)).toEqual(expect.arrayContaining(ids(kept)));
      for (const document of stored) await model.remove('auditevent', document);
      await model.refresh();
    }
  });

  it('takes up a month that somebody began to drop and left', async (handles) => {
    const model = await handles.open();
    await store(model, [onDay(0, 1)]);
    const { generation } = await model.progress('audit');
    const [index, progress] = [
      `${handles.prefix}audit-events-${generation}-2026.01`,
      `${handles.prefix}progress-${generation}`,
    ];
    const claim = `${handles.prefix}dropping-${generation}-2026.01-${START}-dead`;
    const [remove, add] = [
      { index, alias: `${handles.prefix}write-${index.slice(handles.prefix.length)}` },
      { index: progress, alias: claim },
    ];
    await ask(handles.url, 'POST', '/_aliases', { actions: [{ remove }, { add }] });
    await ask(handles.url, 'PUT', `/${index}/_block/write`);
    const refused = await settled((await handles.open()).apply('audit', [onDay(0, 2)], {}));
    await sweep(model);

    expect(refused).toMatchObject({ error: { message: expect.stringContaining('is being dropped') } });
    expect(codes(await model.apply('audit', [onDay(0, 2)], {}))).toEqual(['applied']);
    await model.refresh();
    expect(await found(model)).toEqual([1, 2]);
    expect(Object.keys(await ask<object>(handles.url, 'GET', `/_alias/${handles.prefix}*`))).not.toContain(claim);
  });

  it('answers with an error, never in part, when a month cannot be searched', async (handles) => {
    const model = await handles.open();
    await store(model, [onDay(0, 1), onDay(40, 2)]);
    const { generation } = await model.progress('audit');
    const index = `${handles.prefix}audit-events-${generation}-2026.01`;
    await ask(handles.url, 'POST', `/${index}/_close`);
    const closed = await Promise.all([
      settled(search(model)),
      settled(search(model, received)),
      settled(model.last('auditevent', { org: ORG, filters: [], limit: 5 })),
      settled(model.count('auditevent', ORG)),
      settled(model.get('auditevent', ORG, onDay(0, 1).id)),
    ]);
    await ask(handles.url, 'POST', `/${index}/_open?wait_for_active_shards=1`);

    for (const answer of closed) expect(answer).toMatchObject({ error: { code: 'read_model_unavailable' } });
    expect(await found(model)).toEqual([1, 2]);
  });

  it('takes any string whole: the longest, and longer ones, which no filter finds', async (handles) => {
    const model = await handles.open();
    const long = '\u{10ffff}'.repeat(1024);
    const fields = Object.fromEntries(
      Object.entries(KINDS.auditevent.fields).map(([field, type]) => [field, type === 'time' ? START : long]),
    );
    const beyond = '\u{1f600}'.repeat(40_000);
    const writes = [
      event(1, { fields }),
      event(2, { fields: { ...fields, resourceName: `${long}x` } }),
      event(3, { fields: { resourceName: beyond, contextName: 'x\u0000y', podId: '\ud800' } }),
    ];

    expect(codes(await model.apply('audit', writes, {}))).toEqual(['applied', 'applied', 'applied']);
    await model.apply('control', [put(long.slice(0, 400), 1)], {});
    await model.refresh();
    for (const field of Object.keys(fields).filter((one) => one !== 'eventTime' && one !== 'resourceName')) {
      expect(await found(model, { field, op: '=', value: long })).toEqual([1, 2]);
    }
    expect(await found(model, { field: 'resourceName', op: '=', value: long })).toEqual([1]);
    expect(await settled(found(model, { field: 'resourceName', op: '=', value: beyond }))).toHaveProperty('error');
    expect(await found(model, { field: 'contextName', op: '=', value: 'x\u0000y' })).toEqual([3]);
    expect(await found(model, { field: 'podId', op: '=', value: '\ud800' })).toEqual([]);
    expect((await model.count('auditevent', ORG)).get(long)).toBe(2);
    expect((await model.get('serviceaccount', ORG, long.slice(0, 400)))?.source).toBe('{"at":1}');
  });
});

/** Those that have an index. */
async function months({ url, prefix }: Handles): Promise<string[]> {
  return Object.keys(await ask<object>(url, 'GET', `/${prefix}audit-events-*/_alias`))
    .map((index) => index.slice(-7))
    .sort();
}
