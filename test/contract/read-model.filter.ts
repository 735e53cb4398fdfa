import type { FieldValue } from '../../src/read-model/document.js';
import type { Filter } from '../../src/read-model/search.js';
import fc from '../support/fast-check.js';
import { settled } from './harness.js';
import {
  allItems,
  BY_NAME,
  event,
  found,
  idAt,
  ids,
  type ModelCases,
  NEWEST_FIRST,
  OLDEST_FIRST,
  ORG,
  place,
  put,
  rebuild,
  START,
  search,
  store,
} from './read-model.harness.js';

const is = (field: string, value: FieldValue): Filter => ({ field, op: '=', value });
const from = (field: string, value: FieldValue): Filter => ({ field, op: '>=', value });
const below = (field: string, value: FieldValue): Filter => ({ field, op: '<', value });
const among = (field: string, ...values: FieldValue[]): Filter => ({ field, op: 'in', values });

export function filterCases({ it }: ModelCases): void {
  it('finds an equal keyword', async ({ model }) => {
    await store(
      model,
      ['cart', 'order', 'cart', 'car'].map((resourceName, n) => event(n, { fields: { resourceName } })),
    );

    expect(await found(model, is('resourceName', 'cart'))).toEqual([0, 2]);
  });

  it('finds keywords from a value, inclusive, and below one, exclusive', async ({ model }) => {
    await store(
      model,
      ['a', 'b', 'ba', 'c'].map((resourceName, n) => event(n, { fields: { resourceName } })),
    );

    expect(await found(model, from('resourceName', 'b'))).toEqual([1, 2, 3]);
    expect(await found(model, below('resourceName', 'ba'))).toEqual([0, 1]);
    expect(await found(model, from('resourceName', 'b'), below('resourceName', 'c'))).toEqual([1, 2]);
  });

  it('finds an equal time, from one inclusive, and below one exclusive', async ({ model }) => {
    await store(
      model,
      [0, 1, 2, 3].map((n) => event(n)),
    );

    expect(await found(model, is('eventTime', START + 2))).toEqual([2]);
    expect(await found(model, from('eventTime', START + 2))).toEqual([2, 3]);
    expect(await found(model, below('eventTime', START + 2))).toEqual([0, 1]);
  });

  it('finds and orders times from year 1 to year 9999 to the millisecond', async ({ model }) => {
    const times = [-62_135_596_800_000, -1, 0, 1, START, 253_402_300_799_998, 253_402_300_799_999];
    await store(
      model,
      times.map((eventTime, n) => event(n, { fields: { eventTime } })),
    );

    expect(await found(model)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(await found(model, below('eventTime', 0))).toEqual([0, 1]);
    expect(await found(model, is('eventTime', 253_402_300_799_999))).toEqual([6]);
    expect((await search(model, { order: OLDEST_FIRST })).items.map(({ fields }) => fields.eventTime)).toEqual(times);
  });

  it('finds documents equal to one of several values, repeated or not', async ({ model }) => {
    await store(
      model,
      ['cart', 'order', 'bill', 'Cart', 'car', ''].map((resourceName, n) => event(n, { fields: { resourceName } })),
    );
    await store(model, [event(6), event(7, { org: 'other', fields: { resourceName: 'cart' } })]);

    expect(await found(model, among('resourceName', 'cart', 'bill', 'cart'))).toEqual([0, 2]);
    expect(await found(model, among('resourceName', ''))).toEqual([5]);
    expect(await found(model, among('resourceName', 'cart', 'none such'))).toEqual([0]);
    expect(await found(model, among('resourceName', 'none such'))).toEqual([]);
    expect(await found(model, among('eventTime', START + 1, START + 4))).toEqual([1, 4]);
  });

  it('finds nothing for an empty list of values', async ({ model }) => {
    await store(model, [event(0), event(1, { fields: { resourceName: '' } })]);

    expect(await found(model, among('resourceName'))).toEqual([]);
    expect(await found(model, among('contextName'))).toEqual([]);
    expect((await search(model, { order: 'received', filters: [among('contextName')] })).items).toEqual([]);
    expect((await model.last('auditevent', { org: ORG, filters: [among('contextName')], limit: 5 })).items).toEqual([]);
  });

  it('accepts thousands of values, and any text as a value', async ({ model }) => {
    const odd = twins.flatMap(([, one, other]) => [one, other]);
    const names = [...odd, ...Array.from({ length: 5_000 }, (_, n) => `name ${n}`)];
    await store(
      model,
      names.map((resourceName, n) => event(n, { fields: { resourceName } })),
    );

    for (const [n, name] of odd.entries()) {
      const numbers = await found(model, among('resourceName', name, 'none such'));
      expect(numbers).toContain(n);
      expect(numbers.every((number) => names[Number(number)] === name)).toBe(true);
    }
    const wanted = names.filter((_, n) => n % 2 === 0);
    const { items } = await search(model, { order: OLDEST_FIRST, filters: [among('resourceName', ...wanted)] });
    expect(items).toHaveLength(1000);
    expect(items.every(({ fields }) => wanted.includes(String(fields.resourceName)))).toBe(true);
  });

  it('pages through several values in each order', async ({ model }) => {
    const contexts = ['shop', 'billing', 'audit', 'hr'];
    await store(
      model,
      Array.from({ length: 40 }, (_, n) => event(n, { fields: { contextName: contexts[n % 4] } })),
    );

    const filters = [among('contextName', 'shop', 'hr')];
    for (const order of [NEWEST_FIRST, OLDEST_FIRST, 'received'] as const) {
      const items = await allItems(model, { filters, order, limit: 7 });
      expect(items).toHaveLength(20);
      expect(new Set(items.map(({ fields }) => fields.contextName))).toEqual(new Set(['shop', 'hr']));
    }
    const { items, cursor } = await model.last('auditevent', { org: ORG, filters, limit: 3 });
    expect(ids(items)).toEqual([35, 36, 39].map((n) => idAt(n)));
    expect((await search(model, { order: 'received', filters, cursor })).items).toEqual([]);
  });

  it('finds the identifiers that end with some digits, in every order, and only UUIDs', async ({ model }) => {
    const all = [
      '01890a5d-ac96-774b-bcce-b302099a8057',
      '01890a5d-ac97-774b-bcce-b302099a8057',
      '01890a5d-ac98-774b-bcce-c402099a8057',
      '01890a5d-ac99-774b-bcce-b302099a8058',
      'no-uuid-099a8057',
    ];
    await store(
      model,
      all.map((id, n) => event(n, { id })),
    );
    const ends = (value: string): Filter => ({ field: 'id', op: 'ends', value });
    for (const order of [NEWEST_FIRST, 'received'] as const) {
      const found = async (value: string) =>
        (await search(model, { order, filters: [ends(value)] })).items.map(({ id }) => id).sort();
      expect(await found('099a8057')).toEqual(all.slice(0, 3));
      expect(await found('02099a8057')).toEqual(all.slice(0, 3));
      expect(await found('b302099a8057')).toEqual(all.slice(0, 2));
      expect(await found('00000000')).toEqual([]);
    }
    const { items } = await model.last('auditevent', { org: ORG, filters: [ends('099a8057')], limit: 5 });
    expect(items.map(({ id }) => id)).toEqual(all.slice(0, 3));
    for (const value of ['9a8057', '*99a8057', '099A8057', '099a80578', 'x'.repeat(8)])
      await expect(search(model, { filters: [ends(value)] })).rejects.toThrow('hexadecimal');
  });

  it('finds only what matches all filters', async ({ model }) => {
    await store(model, [
      event(0, { fields: { resourceName: 'cart', actionType: 'create' } }),
      event(1, { fields: { resourceName: 'cart', actionType: 'edit' } }),
      event(2, { fields: { resourceName: 'order', actionType: 'edit' } }),
    ]);

    expect(await found(model, is('resourceName', 'cart'), is('actionType', 'edit'))).toEqual([1]);
    expect(await found(model, is('resourceName', 'cart'), is('resourceName', 'order'))).toEqual([]);
    expect(await found(model, among('resourceName', 'cart', 'order'), is('actionType', 'edit'))).toEqual([1, 2]);
    expect(await found(model, among('resourceName', 'cart'), is('resourceName', 'order'))).toEqual([]);
    expect(await found(model, among('resourceName', 'cart', 'x'), among('actionType', 'create', 'x'))).toEqual([0]);
  });

  it('finds nothing by a field that the document does not have', async ({ model }) => {
    await store(model, [event(0, { fields: { podId: undefined } }), event(1, { fields: { podId: '' } })]);

    expect(await found(model, from('podId', ''))).toEqual([1]);
    expect(await found(model, below('podId', 'x'))).toEqual([1]);
    expect(await found(model, is('podId', ''))).toEqual([1]);
    expect(await found(model, is('podId', 'null'))).toEqual([]);
    expect(await found(model, is('podId', 'undefined'))).toEqual([]);
  });

  it('accepts every field of an event as a filter', async ({ model }) => {
    const fields = {
      contextName: 'a',
      resourceId: 'b',
      resourceName: 'c',
      resourceType: 'd',
      location: 'e',
      gvcAlias: 'f',
      podId: 'g',
      publisher: 'l',
      actionType: 'h',
      subjectEmail: 'i',
      requestId: 'j',
      resultStatus: 'k',
    };
    await store(model, [event(0, { fields }), event(1, { fields: { contextName: 'other' } })]);

    for (const [field, value] of Object.entries(fields)) expect(await found(model, is(field, value))).toEqual([0]);
  });

  const twins: readonly [string, string, string][] = [
    ['case', 'Cart', 'cart'],
    ['a space at the end', 'cart ', 'cart'],
    ['a space in front', ' cart', 'cart'],
    ['the normal form of Unicode', 'caf\u00e9', 'cafe\u0301'],
    ['full and half width', '\uff43art', 'cart'],
    ['ß and ss', 'straße', 'strasse'],
    ['a percent sign', 'ca%', 'cart'],
    ['an underscore', 'c_rt', 'cart'],
    ['an asterisk', 'ca*', 'cart'],
    ['a question mark', 'c?rt', 'cart'],
    ['digits', '007', '7'],
    ['quotes', `"ca'rt"`, 'cart'],
    ['a statement', "x'; DROP TABLE auditevent; --", "x' OR '1'='1"],
    ['a backslash', 'ca\\rt', 'cart'],
    ['a zero-width space', 'ca\u200brt', 'cart'],
    ['the last of 1,024 characters', `${'x'.repeat(1023)}y`, `${'x'.repeat(1023)}z`],
    ['emoji of several code points', '👩‍👩‍👧', '👩‍👩‍👦'],
  ];
  for (const [what, one, other] of twins) {
    it(`tells keywords apart by ${what}`, async ({ model }) => {
      await store(model, [event(0, { fields: { resourceName: one } }), event(1, { fields: { resourceName: other } })]);

      expect(await found(model, is('resourceName', one))).toEqual([0]);
      expect(await found(model, is('resourceName', other))).toEqual([1]);
      expect((await search(model, { filters: [is('resourceName', one)] })).items[0]?.fields.resourceName).toBe(one);
    });
  }

  it('compares keywords by code point, not by UTF-16 unit', async ({ model }) => {
    const names = ['A', 'a', 'ä', '\u{d7ff}', '\u{e000}', '\u{ff5e}', '\u{1f600}', '\u{10ffff}'];
    await store(
      model,
      names.map((resourceName, n) => event(n, { fields: { resourceName } })),
    );
    await model.apply(
      'control',
      names.map((name, n) => put(`${n}`, n, { fields: { name } })),
      {},
    );
    await model.refresh();

    expect(await found(model, from('resourceName', '\u{ff5e}'))).toEqual([5, 6, 7]);
    expect(await found(model, below('resourceName', '\u{1f600}'))).toEqual([0, 1, 2, 3, 4, 5]);
    const sorted = await search(model, { order: BY_NAME }, 'serviceaccount');
    expect(sorted.items.map(({ fields }) => fields.name)).toEqual(names);
  });

  it('compares by type: a number never equals a keyword, nor a string a time', async ({ model }) => {
    await store(model, [event(0, { fields: { resourceName: '5' } }), event(1, { fields: { resourceName: '5.0' } })]);

    const numbers = [
      is('resourceName', 5),
      from('resourceName', 0),
      below('resourceName', 9),
      among('resourceName', 5),
    ];
    for (const filter of numbers) {
      expect(await foundOrRefused(found(model, filter))).toEqual([]);
    }
    const texts = [
      is('eventTime', `${START}`),
      from('eventTime', '0'),
      below('eventTime', 'z'),
      among('eventTime', `${START}`),
    ];
    for (const filter of texts) {
      expect(await foundOrRefused(found(model, filter))).toEqual([]);
    }
  });

  for (const field of [
    'colour',
    'constructor',
    'source',
    'eventTime" IS NOT NULL OR "org',
    "eventTime' OR '1'='1",
    'deleted',
  ]) {
    it(`neither filters nor orders by what is no field: ${field}`, async ({ model }) => {
      await store(model, [event(0), event(1, { org: 'other' })]);

      await expect(search(model, { filters: [is(field, 'x')] })).rejects.toThrow();
      await expect(search(model, { filters: [among(field, 'x')] })).rejects.toThrow();
      await expect(search(model, { order: { field, direction: 'ascending' } })).rejects.toThrow();
    });
  }

  it('never finds a document of another organization, whatever the query', async ({ model }) => {
    const of = (org: string, first: number) =>
      [0, 1, 2].map((n) => event(first + n, { org, fields: { resourceName: 'same' } }));
    await store(model, [...of(ORG, 0), ...of('acme2', 10), ...of('ACME', 20), ...of('', 30)]);

    for (const order of [NEWEST_FIRST, OLDEST_FIRST, 'received'] as const) {
      const { items } = await search(model, { order, filters: [is('resourceName', 'same')] });
      expect(ids(items).sort()).toEqual([idAt(0), idAt(1), idAt(2)]);
    }
    expect((await search(model, { org: 'acm%' })).items).toEqual([]);
    expect((await search(model, { org: "x' OR '1'='1" })).items).toEqual([]);
  });

  it('shows nothing of another organization through a cursor', async ({ model }) => {
    await store(model, [event(0), event(1), event(2, { org: 'other' }), event(3, { org: 'other' })]);

    for (const order of [NEWEST_FIRST, 'received'] as const) {
      const { cursor } = await search(model, { org: 'other', limit: 1, order });
      const { items } = await search(model, { order, ...(cursor && { cursor }) });
      expect(items.every(({ id }) => id === idAt(0) || id === idAt(1))).toBe(true);
    }
  });

  it('counts by context, by value ascending, of the organization only', async ({ model }) => {
    const contexts = ['shop', 'billing', 'shop', '\u{1f600}', '\u{ff5e}', 'Shop', 'shop'];
    await store(
      model,
      contexts.map((contextName, n) => event(n, { fields: { contextName } })),
    );
    await store(model, [event(20, { org: 'other', fields: { contextName: 'secret' } })]);

    const counts = await model.count('auditevent', ORG);
    expect([...counts]).toEqual([
      ['Shop', 1],
      ['billing', 1],
      ['shop', 3],
      ['\u{ff5e}', 1],
      ['\u{1f600}', 1],
    ]);
    expect(await model.count('auditevent', 'nobody')).toEqual(new Map());
  });

  it('counts a document once, despite repetitions and conflicts', async ({ model }) => {
    const first = event(1, { hash: 'h' });
    for (let n = 0; n < 3; n += 1) await store(model, [first, first]);
    await store(model, [
      event(2, { id: idAt(1), hash: 'h' }),
      event(3, { id: idAt(1), hash: 'i', fields: { contextName: 'b' } }),
    ]);

    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 1]]));
  });

  it('does not count a document without the field', async ({ model }) => {
    await store(model, [event(1), event(2, { fields: { contextName: undefined } })]);

    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 1]]));
  });

  it('counts the same after a rebuild', async ({ model }) => {
    const writes = Array.from({ length: 30 }, (_, n) => event(n, { fields: { contextName: `ctx${n % 4}` } }));
    await store(model, writes);
    const before = await model.count('auditevent', ORG);

    await rebuild(model, (next) => next.refresh());
    expect(await model.count('auditevent', ORG)).toEqual(new Map());
    await rebuild(model, (next) => store(next, writes));
    expect(await model.count('auditevent', ORG)).toEqual(before);
    expect([...before.values()]).toEqual([8, 8, 7, 7]);
  });

  it('finds, for any documents and filters, what a scan of them finds', async ({ model }) => {
    let n = 0;
    let run = 0;
    const word = fc.constantFrom('', 'a', 'A', 'ab', 'b', '\u{ff5e}', '\u{1f600}');
    const time = fc.integer({ min: -2, max: 3 });
    const fields = fc.record(
      { eventTime: time, resourceName: word, actionType: word },
      { requiredKeys: ['eventTime'] },
    );
    const op = fc.constantFrom('=' as const, '>=' as const, '<' as const);
    const filter = fc.oneof(
      fc.record({ field: fc.constantFrom('resourceName', 'actionType'), op, value: word }),
      fc.record({ field: fc.constant('eventTime'), op, value: time }),
      fc.record({
        field: fc.constantFrom('resourceName', 'actionType'),
        op: fc.constant('in' as const),
        values: fc.array(word, { maxLength: 4 }),
      }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fields, { maxLength: 25 }),
        fc.array(filter, { maxLength: 3 }),
        async (all, filters) => {
          run += 1;
          const org = `org${run}`;
          const writes = all.map((one) => {
            n += 1;
            return { ...event(n, { org, place: place(n) }), fields: one };
          });
          await store(model, writes);
          const { items } = await search(model, { org, filters });
          const expected = writes.filter((write) => filters.every((one) => matches(write.fields, one)));
          expect(ids(items).sort()).toEqual(ids(expected).sort());
        },
      ),
      { numRuns: 40 },
    );
  });
}

/** The specification of a filter, in its simplest form. */
function matches(fields: Readonly<Record<string, FieldValue | undefined>>, filter: Filter): boolean {
  const found = fields[filter.field];
  if (found === undefined) return false;
  if (filter.op === 'in') return filter.values.some((value) => compare(found, value) === 0);
  const sign = compare(found, filter.value);
  return filter.op === '=' ? sign === 0 : filter.op === '<' ? sign < 0 : sign >= 0;
}

const compare = (a: FieldValue, b: FieldValue): number =>
  typeof a === 'number' && typeof b === 'number' ? a - b : Buffer.compare(Buffer.from(`${a}`), Buffer.from(`${b}`));

/** A query that can match nothing may be refused as well. */
async function foundOrRefused(search: Promise<unknown[]>): Promise<unknown[]> {
  const outcome = await settled(search);
  return 'value' in outcome ? outcome.value : [];
}
