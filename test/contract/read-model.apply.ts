import { keyedId } from '../../src/platform/ids.js';
import type { Write } from '../../src/read-model/document.js';
import fc from '../support/fast-check.js';
import { settled } from './harness.js';
import {
  codes,
  controlPlace,
  documentOf,
  event,
  failWrites,
  idAt,
  ids,
  type ModelCases,
  nextOf,
  none,
  ORG,
  place,
  put,
  remove,
  repair,
  search,
  store,
} from './read-model.harness.js';

export function applyCases({ it, itWith }: ModelCases): void {
  it('returns a created document whole and at once', async ({ model }) => {
    const write = event(1, { fields: { resourceName: 'cart', resultStatus: '' } });

    expect(await model.apply('audit', [write], none)).toEqual([{ code: 'applied', id: write.id }]);

    expect(await model.get('auditevent', ORG, write.id)).toEqual(documentOf(write));
  });

  it('returns undefined for an unknown identifier', async ({ model }) => {
    await model.apply('audit', [event(1)], none);

    expect(await model.get('auditevent', ORG, idAt(2))).toBeUndefined();
    expect(await model.get('serviceaccount', ORG, idAt(1))).toBeUndefined();
  });

  it('never returns a document of another organization', async ({ model }) => {
    await model.apply('audit', [event(1)], none);

    expect(await model.get('auditevent', 'other', idAt(1))).toBeUndefined();
    expect(await model.get('auditevent', '', idAt(1))).toBeUndefined();
    expect(await model.get('auditevent', ORG.toUpperCase(), idAt(1))).toBeUndefined();
  });

  it('stores the same identifier for two organizations separately', async ({ model }) => {
    const [mine, theirs] = [put('robot', 1), put('robot', 2, { org: 'other', source: '{"of":"other"}' })];

    expect(codes(await model.apply('control', [mine, theirs], none))).toEqual(['applied', 'applied']);

    expect(await model.get('serviceaccount', ORG, 'robot')).toEqual(documentOf(mine));
    expect(await model.get('serviceaccount', 'other', 'robot')).toEqual(documentOf(theirs));
  });

  it('stores the same identifier for two kinds separately', async ({ model }) => {
    const [account, org] = [
      put('x', 1),
      put('x', 1, { kind: 'org', place: controlPlace(1, { ordinal: 1 }), source: '{}' }),
    ];

    await model.apply('control', [account, org], none);

    expect(await model.get('serviceaccount', ORG, 'x')).toEqual(documentOf(account));
    expect(await model.get('org', ORG, 'x')).toEqual(documentOf(org));
  });

  it('omits absent fields', async ({ model }) => {
    const write = event(1, { fields: { resourceName: undefined, resourceId: 'r' } });
    await model.apply('audit', [write], none);

    const stored = await model.get('auditevent', ORG, write.id);
    expect(Object.keys(stored?.fields ?? {}).sort()).toEqual(['contextName', 'eventTime', 'resourceId']);
  });

  for (const [what, source] of [
    ['numbers no double holds', '{"big":123456789012345678901234567890,"e":1.10e+400,"zero":-0.0,"one":1.000}'],
    ['escapes as they were written', '{"a":"\\u0041\\/\\ud83d\\ude00\\u0000","b":"\\n"}'],
    ['white space and repeated names', ' {\n\t"a" : 1 ,\r\n"a":2 } '],
    ['any Unicode', '{"ä":"日本 👩‍👩‍👧 \u2028 a\u0308 \u{10ffff} \ufeff"}'],
    ['names that mean something elsewhere', '{"__proto__":{"x":1},"constructor":null,"$set":{},"a.b":1}'],
    ['256 KiB', `{"long":"${'x'.repeat(256 * 1024)}"}`],
  ] as const) {
    it(`answers a source with ${what} byte for byte, given as text or as UTF-8`, async ({ model }) => {
      await store(model, [event(1, { source }), event(2, { source: Buffer.from(source) })]);

      for (const n of [1, 2]) expect((await model.get('auditevent', ORG, idAt(n)))?.source).toBe(source);
      expect((await search(model)).items.map((item) => item.source)).toEqual([source, source]);
    });
  }

  for (const [what, id] of [
    ['a UUIDv7', idAt(7)],
    ['a keyed UUIDv8', keyedId(ORG, 'shop', 'key-1')],
  ] as const) {
    it(`says applied for every delivery of the same creation, and stores it once (${what})`, async ({ model }) => {
      const write = event(1, { id, hash: 'h' });

      expect(codes(await model.apply('audit', [write], none))).toEqual(['applied']);
      expect(codes(await model.apply('audit', [write], none))).toEqual(['applied']);

      await model.refresh();
      expect(ids((await search(model)).items)).toEqual([id]);
    });

    it(`says duplicate for the same content at another place, and keeps the first (${what})`, async ({ model }) => {
      const first = event(1, { id, hash: 'h' });
      const again = event(2, { id, hash: 'h', source: '{"again":true}' });

      await model.apply('audit', [first], none);

      expect(codes(await model.apply('audit', [again], none))).toEqual(['duplicate']);
      expect(codes(await model.apply('audit', [again], none))).toEqual(['duplicate']);
      expect(await model.get('auditevent', ORG, id)).toEqual(documentOf(first));
    });

    it(`keeps the record that the log took first, in whichever order they are applied (${what})`, async ({ model }) => {
      const month = 31 * 24 * 60 * 60 * 1_000;
      const later = place(2, { partition: 1, time: place(1).time + month });
      const [first, second] = [
        event(1, { id, hash: 'h' }),
        event(1, { id, hash: 'other', place: later, source: '{}' }),
      ];

      await model.apply('audit', [second], none);
      expect(codes(await model.apply('audit', [first], none))).toEqual(['applied']);
      expect(codes(await model.apply('audit', [second, first], none))).toEqual(['conflict', 'applied']);

      await model.refresh();
      expect(await model.get('auditevent', ORG, id)).toEqual(documentOf(first));
      expect((await search(model)).items.map(({ source }) => source)).toEqual([first.source]);
      const range = { topic: 'audit', partition: 1, from: 0, to: 10, limit: 10 } as const;
      expect(await model.scan('auditevent', range)).toEqual([]);
    });

    it(`keeps the earlier record of a partition, whatever the clock of the log said (${what})`, async ({ model }) => {
      const first = event(1, { id, hash: 'h' });
      const second = event(2, { id, hash: 'other', place: place(2, { time: place(1).time - 5 }) });

      await model.apply('audit', [first], none);

      expect(codes(await model.apply('audit', [second], none))).toEqual(['conflict']);
      expect(await model.get('auditevent', ORG, id)).toEqual(documentOf(first));
    });

    it(`says conflict for another content, and keeps the first (${what})`, async ({ model }) => {
      const first = event(1, { id, hash: 'h' });

      await model.apply('audit', [first], none);

      expect(codes(await model.apply('audit', [event(2, { id, hash: 'other' })], none))).toEqual(['conflict']);
      expect(codes(await model.apply('audit', [first], none))).toEqual(['applied']);
      expect(await model.get('auditevent', ORG, id)).toEqual(documentOf(first));
    });
  }

  it('says duplicate when neither creation has a hash, conflict when only one has', async ({ model }) => {
    await model.apply('audit', [event(1), event(2, { hash: 'h' })], none);

    const later = [event(3, { id: idAt(1) }), event(4, { id: idAt(1), hash: 'h' }), event(5, { id: idAt(2) })];
    expect(codes(await model.apply('audit', later, none))).toEqual(['duplicate', 'conflict', 'conflict']);
  });

  it('distinguishes the documents of one record by ordinal', async ({ model }) => {
    const first = event(1, { hash: 'h' });
    const second = event(1, { hash: 'h', place: place(1, { ordinal: 1 }) });

    expect(codes(await model.apply('audit', [first, second], none))).toEqual(['applied', 'duplicate']);
  });

  it('distinguishes positions by partition and topic', async ({ model }) => {
    await model.apply('audit', [event(1, { hash: 'h' })], none);

    const elsewhere = [
      event(1, { hash: 'h', place: place(1, { partition: 1 }) }),
      event(1, { hash: 'h', place: controlPlace(1) }),
    ];
    expect(codes(await model.apply('audit', elsewhere, none))).toEqual(['duplicate', 'duplicate']);
  });

  it('returns one outcome per write, in order, also for several writes of one identifier', async ({ model }) => {
    const writes = [
      event(1, { hash: 'a' }),
      put('robot', 5),
      event(2, { id: idAt(1), hash: 'a' }),
      put('robot', 4),
      event(3),
      event(4, { id: idAt(1), hash: 'b' }),
      remove('robot', 6),
    ];

    const outcomes = await model.apply('control', writes, none);

    expect(outcomes).toEqual([
      { code: 'applied', id: idAt(1) },
      { code: 'applied', id: 'robot' },
      { code: 'duplicate', id: idAt(1) },
      { code: 'stale', id: 'robot' },
      { code: 'applied', id: idAt(3) },
      { code: 'conflict', id: idAt(1) },
      { code: 'applied', id: 'robot' },
    ]);
    expect(await model.get('serviceaccount', ORG, 'robot')).toBeUndefined();
  });

  it('replaces all of the older document by the newer put', async ({ model }) => {
    await model.apply('control', [put('robot', 1, { fields: { name: 'old' } })], none);
    const newer = put('robot', 2, { fields: {} });

    expect(codes(await model.apply('control', [newer], none))).toEqual(['applied']);

    expect(await model.get('serviceaccount', ORG, 'robot')).toEqual(documentOf(newer));
  });

  it('returns stale for an older put, and applied for a repetition of the newest', async ({ model }) => {
    await model.apply('control', [put('robot', 1), put('robot', 2)], none);

    expect(codes(await model.apply('control', [put('robot', 1), put('robot', 2)], none))).toEqual(['stale', 'applied']);

    expect(await model.get('serviceaccount', ORG, 'robot')).toEqual(documentOf(put('robot', 2)));
  });

  it('treats the higher ordinal of one record as newer', async ({ model }) => {
    const last = put('robot', 3, { place: controlPlace(3, { ordinal: 2 }), source: '{"last":true}' });
    const earlier = put('robot', 3, { place: controlPlace(3, { ordinal: 1 }) });

    expect(codes(await model.apply('control', [earlier, last, earlier], none))).toEqual([
      'applied',
      'applied',
      'stale',
    ]);
    expect(await model.get('serviceaccount', ORG, 'robot')).toEqual(documentOf(last));
  });

  it('neither gets nor finds a deleted document', async ({ model }) => {
    await model.apply('control', [put('gone', 1), put('kept', 2)], none);

    expect(codes(await model.apply('control', [remove('gone', 3)], none))).toEqual(['applied']);
    await model.refresh();

    expect(await model.get('serviceaccount', ORG, 'gone')).toBeUndefined();
    expect(ids((await search(model, {}, 'serviceaccount')).items)).toEqual(['kept']);
  });

  it('keeps a document deleted when an older put arrives late', async ({ model }) => {
    await model.apply('control', [put('robot', 1), remove('robot', 3)], none);

    expect(codes(await model.apply('control', [put('robot', 2), put('robot', 1)], none))).toEqual(['stale', 'stale']);
    await model.refresh();

    expect(await model.get('serviceaccount', ORG, 'robot')).toBeUndefined();
    expect((await search(model, {}, 'serviceaccount')).items).toEqual([]);
  });

  it('returns applied for a repeated deletion, and stale for one older than the document', async ({ model }) => {
    await model.apply('control', [put('gone', 1), remove('gone', 2), put('here', 4)], none);

    expect(codes(await model.apply('control', [remove('gone', 2), remove('here', 3)], none))).toEqual([
      'applied',
      'stale',
    ]);
    expect(await model.get('serviceaccount', ORG, 'here')).toEqual(documentOf(put('here', 4)));
  });

  it('restores a deleted document with a newer put', async ({ model }) => {
    await model.apply('control', [put('robot', 1), remove('robot', 2)], none);

    expect(codes(await model.apply('control', [put('robot', 3)], none))).toEqual(['applied']);
    await model.refresh();

    expect(await model.get('serviceaccount', ORG, 'robot')).toEqual(documentOf(put('robot', 3)));
    expect(ids((await search(model, {}, 'serviceaccount')).items)).toEqual(['robot']);
  });

  it('remembers the deletion of an unknown document', async ({ model }) => {
    expect(codes(await model.apply('control', [remove('robot', 5)], none))).toEqual(['applied']);

    expect(codes(await model.apply('control', [put('robot', 4)], none))).toEqual(['stale']);
    expect(await model.get('serviceaccount', ORG, 'robot')).toBeUndefined();
  });

  it('ends in the same state for any order and repetition of puts and deletions', async ({ model }) => {
    let run = 0;
    const change = fc.record({ id: fc.constantFrom('a', 'b', 'c'), deletes: fc.boolean() });
    const shuffled = fc
      .array(change, { minLength: 1, maxLength: 12 })
      .chain((changes) => fc.tuple(fc.constant(changes), fc.array(fc.nat(changes.length - 1), { maxLength: 30 })));
    await fc.assert(
      fc.asyncProperty(shuffled, async ([changes, deliveries]) => {
        run += 1;
        const org = `org${run}`;
        const writes: Write[] = changes.map(({ id, deletes }, offset) => (deletes ? remove : put)(id, offset, { org }));
        await model.apply(
          'control',
          deliveries.flatMap((index) => writes[index] ?? []),
          none,
        );
        await model.apply('control', writes.toReversed(), none);
        for (const id of ['a', 'b', 'c']) {
          const last = writes.findLast((write) => write.id === id);
          const expected = last?.op === 'put' ? documentOf(last) : undefined;
          expect(await model.get('serviceaccount', org, id)).toEqual(expected);
        }
      }),
      { numRuns: 30 },
    );
  });

  for (const field of ['colour', 'constructor', '__proto__', 'name', 'EVENTTIME']) {
    it(`applies nothing at all when one write has the unknown field ${field}`, async ({ model }) => {
      const fields = Object.fromEntries([[field, 'x']]);
      const writes = [event(1), { ...event(2), fields }, event(3)];

      await expect(model.apply('audit', writes, { 0: 4 })).rejects.toThrow();

      await model.refresh();
      expect((await search(model)).items).toEqual([]);
      expect(await model.get('auditevent', ORG, idAt(1))).toBeUndefined();
      expect(nextOf(await model.progress('audit'), 0)).toEqual([0]);
      expect(await model.count('auditevent', ORG)).toEqual(new Map());
    });
  }

  it('counts nothing of a refused apply', async ({ model }) => {
    const refused = [event(1), { ...event(2), fields: { colour: 'x' } }];
    await expect(model.apply('audit', refused, none)).rejects.toThrow();

    await store(model, [event(3)]);

    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 1]]));
  });

  itWith.failWrites('has neither documents nor progress after a failed apply', async (harness) => {
    const { model } = harness;
    await model.apply('audit', [event(1)], { 0: 2 });
    failWrites(harness);
    expect(await settled(model.apply('audit', [event(2), event(3)], { 0: 4 }))).toHaveProperty('error');
    repair(harness);

    await model.refresh();
    expect(ids((await search(model)).items)).toEqual([idAt(1)]);
    expect(await model.get('auditevent', ORG, idAt(2))).toBeUndefined();
    expect(nextOf(await model.progress('audit'), 0)).toEqual([2]);
    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 1]]));
  });

  itWith.failWrites('applies a batch again after a failure, each document once', async (harness) => {
    const { model } = harness;
    const writes = [event(2), event(3, { hash: 'h' }), put('robot', 4)];
    failWrites(harness);
    await settled(model.apply('audit', writes, { 0: 4 }));
    repair(harness);

    expect(codes(await model.apply('audit', writes, { 0: 4 }))).toEqual(['applied', 'applied', 'applied']);

    await model.refresh();
    expect((await search(model)).items).toHaveLength(2);
    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 2]]));
    expect(nextOf(await model.progress('audit'), 0)).toEqual([4]);
  });

  it('applies concurrent calls of several partitions whole', async ({ model }) => {
    const call = (partition: number) =>
      Array.from({ length: 20 }, (_, n) => event(n, { id: idAt(n, partition), place: place(n, { partition }) }));

    await Promise.all([0, 1, 2, 3].map((partition) => model.apply('audit', call(partition), { [partition]: 20 })));

    await model.refresh();
    expect(new Set(ids((await search(model)).items)).size).toBe(80);
    expect(nextOf(await model.progress('audit'), 0, 1, 2, 3)).toEqual([20, 20, 20, 20]);
  });
}
