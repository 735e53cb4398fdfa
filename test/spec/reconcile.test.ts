import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import type { ReconciliationReport } from '../../src/projections/upkeep/findings.js';
import { type ReconcileOptions, reconcile } from '../../src/projections/upkeep/reconcile.js';
import { countTurns, EmbeddedTestStore } from '../support/store.js';

let store: EmbeddedTestStore;

const never = new AbortController().signal;
const NONE = { missing: 0, altered: 0, extra: 0, misplaced: 0 };
const run = (options: ReconcileOptions = {}) => reconcile(store.parts, options, () => undefined, never);
const named = ({ items }: ReconciliationReport) =>
  items.map(({ problem, itemKind, org, id }) => `${problem} ${itemKind} ${org}/${id}`).sort();

/** The identifier of the nth event that was made. */
const id = (n: number) => `${String(n).padStart(8, '0')}-0000-7000-8000-000000000000`;

async function open(partitions: number): Promise<void> {
  store = await EmbeddedTestStore.open(partitions);
  await store.createOrg('acme');
  await store.publish(700);
  await store.log.append([
    store.event('once', { id: 'keyed-1', hash: 'h' }),
    store.unreadable(),
    store.event('once', { id: 'keyed-1', hash: 'h' }),
    store.event('twice', { id: 'keyed-1', hash: 'other' }),
  ]);
  for (const name of ['app', 'web', 'busy']) {
    for (let version = 1; version <= 3; version += 1) await store.setRetention(name, version);
  }
  await store.settled();
}

afterEach(() => store.remove());

const columns = 'id, shard, "offset", ordinal, time, hash, deleted, source, crc, f_contextName, f_resourceName';

/** Puts a row beside that of an event, of another identifier, as if it came from this place. */
function insert(db: DatabaseSync, from: string, as: string, shard: string, offset: number): void {
  db.exec(`INSERT INTO auditevent (org, ${columns})
    SELECT org, '${as}', number('${shard}'), ${offset}, 7, time, hash, deleted, source, crc, f_contextName, f_resourceName
    FROM auditevent WHERE id = stored('${from}')`);
}

/** Each spoils one document behind the service's back: what it does, and what a reconciliation calls it. */
const FAULTS: readonly [string, (db: DatabaseSync) => void, string][] = [
  ...[5, 6, 640].map((n): [string, (db: DatabaseSync) => void, string] => [
    `event ${n} deleted`,
    (db) => db.exec(`DELETE FROM auditevent WHERE id = stored('${id(n)}')`),
    `missing auditevent acme/${id(n)}`,
  ]),
  spoil(11, `source = '{"resource":"other"}'`),
  spoil(12, `source = ''`),
  spoil(13, `f_resourceName = number('other')`),
  spoil(14, `f_eventTime = NULL`),
  spoil(15, `hash = 'forged'`),
  spoil(16, 'time = time + 1'),
  spoil(17, 'deleted = 1'),
  spoil(18, `crc = crc + 1`, 'misplaced'),
  spoil(19, `"offset" = 3, ordinal = 9`),
  spoil(20, `"offset" = 600, ordinal = 9`),
  spoil(21, `"offset" = 1000000`),
  spoil(22, `shard = number('control/0'), "offset" = 2, ordinal = 9`),
  spoil(23, `shard = number('audit/77')`),
  ['a forged event', (db) => insert(db, id(30), 'forged', 'audit/0', 30), 'extra auditevent acme/forged'],
  [
    'an event beyond the log',
    (db) => insert(db, id(30), 'beyond', 'audit/0', 5_000_000),
    'extra auditevent acme/beyond',
  ],
  ['an event before it', (db) => insert(db, id(30), 'before', 'audit/0', -1), 'extra auditevent acme/before'],
  ['an event of no topic', (db) => insert(db, id(30), 'dead', 'audit.dead/0', 0), 'extra auditevent acme/dead'],
  ['a forged change', (db) => insert(db, id(30), 'svc', 'control/0', 1), 'extra auditevent acme/svc'],
  [
    'a change deleted',
    (db) => db.exec(`DELETE FROM auditevent WHERE id = stored('web-set-2')`),
    'missing auditevent acme/web-set-2',
  ],
  ['a view altered', (db) => db.exec(`UPDATE org SET source = '{}'`), 'altered org acme/acme'],
  ['a view deleted', (db) => db.exec(`DELETE FROM auditctx WHERE id = stored('web')`), 'missing auditctx acme/web'],
  [
    'a view of the past',
    (db) => db.exec(`UPDATE auditctx SET "offset" = 2 WHERE id = stored('app')`),
    'altered auditctx acme/app',
  ],
  [
    'a view of nothing',
    (db) =>
      db.exec(`INSERT INTO org (org, id, shard, "offset", ordinal, time, source, crc)
        VALUES (number('ghost'), 'ghost', number('audit/0'), 40, 0, 0, '{}', 0)`),
    'extra org ghost/ghost',
  ],
];

function spoil(n: number, change: string, problem = 'altered'): (typeof FAULTS)[number] {
  const work = (db: DatabaseSync) => db.exec(`UPDATE auditevent SET ${change} WHERE id = stored('${id(n)}')`);
  return [`event ${n}: ${change}`, work, `${problem} auditevent acme/${id(n)}`];
}

describe.each([1, 3])('a reconciliation, of %i partitions', (partitions) => {
  beforeEach(() => open(partitions));

  it('finds nothing where there is nothing, and looks at all there is', async () => {
    const report = await run();
    // Of the events and the changes that can be read, and of the views of nine resources.
    expect(report).toEqual({
      kind: 'reconciliation',
      compared: 703 + 13 + 3 + 9,
      differences: NONE,
      repaired: 0,
      items: [],
      omitted: 0,
    });
  });

  it('reports exactly the faults while a writer continues, repairs them, and then finds none', async () => {
    await store.tamper((db) => {
      for (const [, work] of FAULTS) work(db);
    });
    const stop = new AbortController();
    const writing = (async () => {
      for (let n = 0; !stop.signal.aborted; n += 1) {
        const keyed = [1, 2].map(() => store.event('live', { id: `live-${n}`, hash: 'h' }));
        await store.log.append([...keyed, store.event(`live-${n}`)]);
        for (const name of n % 5 === 0 ? ['app', 'busy'] : []) await store.setRetention(name, 10 + n);
        await turn();
      }
    })();
    const found = await run();
    const repaired = await run({ repair: true });
    const after = await run();
    stop.abort();
    await writing;

    const expected = FAULTS.map(([, , name]) => name).sort();
    // The writer's next change of the view puts that right.
    const lasting = (names: readonly string[]) => names.filter((name) => name !== 'altered auditctx acme/app');
    expect(lasting(named(found))).toEqual(lasting(expected));
    expect(found.items.every((item) => !item.repaired)).toBe(true);
    expect(lasting(named(repaired))).toEqual(lasting(expected));
    expect(repaired.items.every((item) => item.repaired)).toBe(true);
    expect(repaired.repaired).toBe(repaired.items.length);
    expect(named(after)).toEqual([]);
    expect(after.differences).toEqual(NONE);
    await store.settled();
    expect(named(await run())).toEqual([]);
  });
});

describe('a reconciliation', () => {
  beforeEach(() => open(1));

  it.each(FAULTS)('names and repairs: %s', async (_what, work, name) => {
    await store.tamper(work);
    expect(named(await run())).toEqual([name]);
    expect(named(await run({ repair: true }))).toEqual([name]);
    expect(named(await run())).toEqual([]);
  });

  it('reports the position in the log', async () => {
    await store.tamper((db) => db.exec(`DELETE FROM auditevent WHERE id = stored('${id(100)}')`));
    expect((await run()).items).toEqual([
      {
        problem: 'missing',
        itemKind: 'auditevent',
        ...{ org: 'acme', id: id(100) },
        ...{ topic: 'audit', partition: 0, offset: 99 },
        repaired: false,
      },
    ]);
  });

  it('serves again what it repaired', async () => {
    const before = await store.model.get('auditevent', 'acme', id(100));
    await store.tamper((db) => db.exec(`DELETE FROM auditevent WHERE id = stored('${id(100)}')`));
    expect(await store.model.get('auditevent', 'acme', id(100))).toBeUndefined();
    await run({ repair: true });
    expect(await store.model.get('auditevent', 'acme', id(100))).toEqual(before);
  });

  it.each([
    [{ topic: 'audit', from: 100, to: 200 }, [`missing auditevent acme/${id(150)}`]],
    [{ topic: 'audit', from: 300 }, []],
    [{ topic: 'audit', to: 100 }, [`missing auditevent acme/${id(50)}`]],
    [{ topic: 'audit', partition: 0 }, [50, 150].map((n) => `missing auditevent acme/${id(n)}`)],
    [{ topic: 'audit', partition: 1 }, []],
    [{ topic: 'control' }, ['altered org acme/acme']],
    [{ topic: 'control', from: 1 }, []],
  ] as const)('looks only at %j', async (options, expected) => {
    await store.tamper((db) => {
      db.exec(`DELETE FROM auditevent WHERE id IN (stored('${id(50)}'), stored('${id(150)}'))`);
      db.exec(`UPDATE org SET source = '{}'`);
    });
    expect(named(await run(options))).toEqual([...expected].sort());
  });

  it('takes a repetition for none of its own when the first lies before the range', async () => {
    await store.publish(10);
    await store.settled();
    const [first, ...repetitions] = [700, 702, 703];
    for (const from of repetitions) expect(named(await run({ topic: 'audit', from }))).toEqual([]);

    // Not even when the first is gone: that is a fault of another range.
    await store.tamper((db) => db.exec(`DELETE FROM auditevent WHERE id = stored('keyed-1')`));
    for (const from of repetitions) expect(named(await run({ topic: 'audit', from, repair: true }))).toEqual([]);
    expect(named(await run({ topic: 'audit', ...(first && { from: first }) }))).toEqual([
      'missing auditevent acme/keyed-1',
    ]);
  });

  it('counts all and names a thousand', async () => {
    await store.publish(600);
    await store.settled();
    await store.tamper((db) => db.exec('DELETE FROM auditevent'));
    const { differences, items, omitted } = await run();
    expect([differences.missing, items.length, omitted]).toEqual([1301 + 16, 1000, 317]);
    expect((await run({ repair: true })).repaired).toBe(1317);
    expect((await run()).differences).toEqual(NONE);
  });

  it('counts and removes more strays than one look at them gives', async () => {
    await store.tamper((db) => {
      for (let n = 0; n < 2_500; n += 1) insert(db, id(30), `beyond-${n}`, 'audit/0', 10_000 + n);
      insert(db, id(30), 'elsewhere', 'audit/1', 10_000);
    });
    expect((await run()).differences).toEqual({ ...NONE, extra: 2_501 });
    expect(named(await run({ topic: 'audit', partition: 1 }))).toEqual(['extra auditevent acme/elsewhere']);
    expect((await run({ repair: true })).differences).toEqual({ ...NONE, extra: 2_501 });
    expect((await run()).differences).toEqual(NONE);
  });

  it('leaves the newer of two states, though it came while the older was written anew', async () => {
    await store.tamper((db) => db.exec(`UPDATE auditctx SET source = '{}' WHERE id = stored('app')`));
    let version = 10;
    const overwrite = store.model.overwrite.bind(store.model);
    store.model.overwrite = async (write) => {
      if (version < 13) {
        version += 1;
        await store.setRetention('app', version);
        await store.settled();
      }
      await overwrite(write);
    };
    expect(named(await run({ repair: true }))).toEqual(['altered auditctx acme/app']);
    expect(JSON.parse((await store.model.get('auditctx', 'acme', 'app'))?.source ?? '')).toMatchObject({ version: 13 });
    expect(named(await run())).toEqual([]);
  });

  it('lets everything else run in between', async () => {
    const turns = countTurns();
    const scanned: number[] = [];
    const scan = store.model.scan.bind(store.model);
    store.model.scan = (kind, range) => {
      if (kind === 'auditevent' && range.topic === 'audit') scanned.push(turns.count);
      return scan(kind, range);
    };
    await run();
    turns.stop();
    expect(scanned.length).toBeGreaterThanOrEqual(4);
    expect(new Set(scanned).size).toBe(scanned.length);
  });

  it('stops when it is told to', async () => {
    const stop = new AbortController();
    const stopping = reconcile(store.parts, {}, () => stop.abort(new Error('enough')), stop.signal);
    await expect(stopping).rejects.toThrow('enough');
  });

  it('stops at a control record that it cannot read, since nothing after it is sure', async () => {
    await store.halt();
    await store.log.append([{ topic: 'control', key: 'k', headers: { v: '99' }, value: Buffer.from('{}') }]);
    await store.model.apply('control', [], { 0: (await store.log.head('control'))[0] ?? 0 });
    await expect(run()).rejects.toThrow('start a newer version');
  });
});

describe('a reconciliation beside retention', () => {
  const DAY = 86_400_000;
  const limitAt = (ms: number) => store.retention.setLimit('acme', 'app', ms);

  beforeEach(async () => {
    store = await EmbeddedTestStore.open();
    store.now.ms = 10 * DAY;
    await store.createOrg('acme');
  });

  async function at(day: number, ...names: readonly string[]): Promise<void> {
    store.now.ms = day * DAY;
    await store.log.append(names.map((name) => store.event(name, { id: `key-${name}`, hash: name })));
    await store.settled();
  }

  it('misses nothing that has expired, swept or not, and does not bring it back', async () => {
    await at(10, 'a', 'b');
    await at(12, 'c');
    limitAt(11 * DAY);
    expect(named(await run({ repair: true }))).toEqual([]);
    await store.model.sweep(never);
    expect(named(await run({ repair: true }))).toEqual([]);
    expect(await store.model.get('auditevent', 'acme', 'key-a')).toBeUndefined();
  });

  it('knows what took the place of something expired', async () => {
    await at(10, 'a');
    limitAt(13 * DAY);
    await at(15, 'a');
    expect(named(await run())).toEqual([]);
    await store.tamper((db) => db.exec(`DELETE FROM auditevent WHERE id = stored('key-a')`));
    expect(named(await run({ repair: true }))).toEqual(['missing auditevent acme/key-a']);
    expect((await store.model.get('auditevent', 'acme', 'key-a'))?.place.time).toBe(15 * DAY);
  });

  it('leaves what nobody sees any more to the sweep', async () => {
    await at(10, 'a', 'b');
    limitAt(11 * DAY);
    await store.tamper((db) => insert(db, 'key-a', 'forged', 'audit/0', 0));
    expect(named(await run())).toEqual([]);
  });

  it('does not miss a repetition whose first has expired since', async () => {
    await at(10, 'a');
    await at(12, 'a');
    // Seven days of retention at day 18: the first is gone, and the repetition was never stored.
    store.now.ms = 18 * DAY;
    limitAt(11 * DAY);
    expect(named(await run({ repair: true }))).toEqual([]);
    await store.model.sweep(never);
    expect(named(await run({ repair: true }))).toEqual([]);
  });
});
