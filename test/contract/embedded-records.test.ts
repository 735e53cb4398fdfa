import { DatabaseSync } from 'node:sqlite';
import { withReceivedTime } from '../../src/event-log/audit-record.js';
import { type EmbeddedModelHarness, openEmbeddedReadModel } from './embedded.harness.js';
import { event, found, idAt, ids, ORG, place, promote, put, START, scan, search, store } from './read-model.harness.js';

let harness: EmbeddedModelHarness;
beforeEach(async () => {
  harness = await openEmbeddedReadModel();
});
afterEach(() => harness.destroy());

const RECORD = Buffer.from('{"n":7,"e":1.10e+400,"ä":"日本 👩‍👩‍👧"}');

/** The creation of event `n` by record `n`, which is in the log too. */
function recorded(n: number, value: Uint8Array = Buffer.from(`{"n":${n}}`)) {
  harness.records.set(place(n), value);
  return event(n, { source: withReceivedTime(value, START + n), recorded: true });
}

describe('a document that is a record of the log', () => {
  test('is read from there, byte for byte, with its received time', async () => {
    const source = withReceivedTime(RECORD, START + 7).toString();
    await store(harness.model, [recorded(7, RECORD)]);

    expect((await harness.model.get('auditevent', ORG, idAt(7)))?.source).toBe(source);
    expect((await search(harness.model)).items.map((item) => item.source)).toEqual([source]);
    expect((await search(harness.model, { order: 'received' })).items.map((item) => item.source)).toEqual([source]);
    expect(JSON.parse(source).receivedTime).toBe('2026-01-15T00:00:00.007Z');
  });

  test('is not stored a second time', async () => {
    const marker = Buffer.from(`{"n":1,"marker":"${'only in the log '.repeat(100)}"}`);
    await store(harness.model, [recorded(1, marker), put('robot', 2, { source: '{"kept":true}' })]);
    await harness.model.close();
    const db = new DatabaseSync(harness.file);
    const sources = db.prepare('SELECT source FROM auditevent UNION ALL SELECT source FROM serviceaccount').all();
    const bytes = Number(db.prepare('PRAGMA page_count').get()?.page_count) * 4096;
    const texts = db.prepare(`SELECT count(*) AS n FROM texts WHERE text LIKE '%only in the log%'`).get();
    db.close();

    expect(sources).toEqual([{ source: null }, { source: '{"kept":true}' }]);
    expect([bytes > 0, texts?.n]).toEqual([true, 0]);
  });

  test('fails a read when the log cannot give it', async () => {
    await store(harness.model, [recorded(1), event(2, { source: '{"n":2}', recorded: true })]);

    await expect(harness.model.get('auditevent', ORG, idAt(2))).rejects.toThrow('the log of the test has no audit/0/2');
    await expect(search(harness.model)).rejects.toThrow('the log of the test has no audit/0/2');
    expect((await harness.model.get('auditevent', ORG, idAt(1)))?.source).toContain('"n":1,');
  });

  test('is never that of another place, whatever damage says', async () => {
    await store(harness.model, [recorded(1), recorded(2)]);
    await harness.tamper(`UPDATE auditevent SET "offset" = 2 WHERE id = stored('${idAt(1)}')`);

    await expect(harness.model.get('auditevent', ORG, idAt(1))).rejects.toThrow('svc reconcile --repair');
    expect((await scan(harness.model)).filter(({ misplaced }) => misplaced).map(({ id }) => id)).toEqual([idAt(1)]);
  });

  test('is compared and scanned without the log, and promoted with its generation', async () => {
    await store(harness.model, [recorded(1), recorded(2)]);
    const next = await harness.model.begin();
    await store(next, [recorded(1), recorded(2)]);
    expect((await scan(next)).map(({ source, recorded: is }) => [source, is])).toEqual(Array(2).fill(['', true]));
    await promote(next);

    expect(await found(harness.model)).toEqual([1, 2]);
  });
});

test('a text that damage altered fails the reads that need it, and no other', async () => {
  await store(harness.model, [event(1, { fields: { podId: 'one' } }), event(2, { fields: { podId: 'two' } })]);
  await harness.tamper(`UPDATE texts SET text = 'other' WHERE text = 'one'`);

  await expect(harness.model.get('auditevent', ORG, idAt(1))).rejects.toThrow('svc rebuild');
  expect((await harness.model.get('auditevent', ORG, idAt(2)))?.fields['podId']).toBe('two');
  expect((await scan(harness.model)).map(({ misplaced }) => misplaced)).toEqual([true, false]);
});

test('an organization whose name damage gave to another never sees the other', async () => {
  await store(harness.model, [event(1), event(2, { org: 'other' })]);
  await harness.tamper(`UPDATE texts SET text = 'gone' WHERE text = '${ORG}';
    UPDATE texts SET text = '${ORG}' WHERE text = 'other'`);

  await expect(search(harness.model)).rejects.toThrow('svc rebuild');
  await expect(harness.model.get('auditevent', ORG, idAt(2))).rejects.toThrow('svc rebuild');
});

test('identifiers of any form at one instant are each on one page', async () => {
  const names = ['b', idAt(5), 'a', '0198', idAt(5, 1), 'zz', idAt(5).toUpperCase()];
  const at = { eventTime: START };
  await store(
    harness.model,
    names.map((id, n) => event(n, { id, fields: at })),
  );
  const seen: string[] = [];
  for (let cursor: Parameters<typeof search>[1]; ; ) {
    const page = await search(harness.model, { limit: 2, ...cursor });
    seen.push(...ids(page.items));
    if (!page.more || !page.cursor) break;
    cursor = { cursor: page.cursor };
  }

  expect(seen.toSorted()).toEqual(names.toSorted());
  expect(await Promise.all(names.map(async (id) => (await harness.model.get('auditevent', ORG, id))?.id))).toEqual(
    names,
  );
});
