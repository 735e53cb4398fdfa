import { setImmediate as turn } from 'node:timers/promises';
import { type RebuildParts, rebuild } from '../../src/projections/upkeep/rebuild.js';
import type { StoredDocument } from '../../src/read-model/document.js';
import { KINDS, type KindName } from '../../src/read-model/kinds.js';
import type { Generation, NextGeneration, ReadModel } from '../../src/read-model/read-model.js';
import { countTurns, EmbeddedTestStore } from '../support/store.js';

let store: EmbeddedTestStore;

beforeEach(async () => {
  store = await EmbeddedTestStore.open(2);
});

afterEach(() => store.remove());

const NONE = { missing: 0, altered: 0, extra: 0 };
const never = new AbortController().signal;
const run = (parts: Partial<RebuildParts> = {}, signal = never) =>
  rebuild({ ...store.parts, ...parts }, () => undefined, signal);

/** Events of both partitions, views that changed, repetitions, a conflict and a record that nobody can read. */
async function fill(): Promise<void> {
  await store.createOrg('acme');
  await store.publish(700);
  await store.log.append([
    store.event('once', { id: 'keyed-1', hash: 'h' }),
    store.event('once', { id: 'keyed-1', hash: 'h' }),
    store.event('twice', { id: 'keyed-1', hash: 'other' }),
    store.unreadable(),
  ]);
  for (let version = 1; version <= 3; version += 1) await store.setRetention('app', version);
  await store.settled();
}

/** All that is stored, but for where. */
async function everything(model: Generation): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const kind of Object.keys(KINDS) as KindName[]) {
    for (const [topic, partition] of [
      ['audit', 0],
      ['audit', 1],
      ['control', 0],
    ] as const) {
      let after: StoredDocument | undefined;
      for (;;) {
        const page = await model.scan(kind, {
          ...{ topic, partition, from: 0, to: 100_000, limit: 1000 },
          ...(after && { after }),
        });
        found.push(...page.map(({ location: _, ...rest }) => ({ kind, ...rest })));
        after = page.at(-1);
        if (page.length < 1000) break;
      }
    }
  }
  return found;
}

/** The model with another method or two, also in the generations that it begins. */
function changed(model: ReadModel, change: (next: NextGeneration) => Partial<NextGeneration>): ReadModel {
  const begin = async () => {
    const next = await model.begin();
    const methods: Partial<Record<PropertyKey, unknown>> = change(next);
    return proxied(next, methods);
  };
  return proxied(model, { begin });
}

function proxied<Target extends object>(target: Target, methods: Partial<Record<PropertyKey, unknown>>): Target {
  return new Proxy(target, {
    get(on, name) {
      if (methods[name] !== undefined) return methods[name];
      const value: unknown = Reflect.get(on, name, on);
      return typeof value === 'function' ? value.bind(on) : value;
    },
  });
}

describe('a rebuild', () => {
  it('makes the same again, and says so', async () => {
    await fill();
    const before = await everything(store.model);
    const { generation } = await store.model.progress('audit');

    const report = await run();

    expect(report).toEqual({
      kind: 'rebuild',
      generation: generation + 1,
      records: 708,
      unreadable: 1,
      compared: before.length,
      differences: NONE,
      items: [],
      omitted: 0,
    });
    expect((await store.model.progress('audit')).generation).toBe(generation + 1);
    expect(await everything(store.model)).toEqual(before);
  });

  it('puts right what was not as the log says, and names it', async () => {
    await fill();
    const before = await everything(store.model);
    await store.tamper((db) => {
      db.exec(`DELETE FROM auditevent WHERE f_resourceName = number('db-3')`);
      db.exec(`UPDATE auditevent SET source = '{}' WHERE f_resourceName IN (number('db-4'), number('db-5'))`);
      db.exec(`UPDATE auditctx SET source = '{}'`);
      db.exec(`UPDATE auditevent SET id = 'forged' WHERE f_resourceName = number('db-6')`);
    });

    const { differences, items, omitted } = await run();

    expect([differences, omitted]).toEqual([{ missing: 2, altered: 3, extra: 1 }, 0]);
    const named = items.map(({ problem, itemKind, id }) => `${problem} ${itemKind} ${id}`);
    expect(named).toContain('extra auditevent forged');
    expect(named).toContain('altered auditctx app');
    expect(items[0]).toMatchObject({ org: 'acme', topic: 'audit', partition: expect.any(Number) });
    expect(await everything(store.model)).toEqual(before);
    expect((await run()).differences).toEqual(NONE);
  });

  it('names what claims to come from a topic that has none of its kind', async () => {
    await fill();
    await store.tamper((db) => db.exec(`UPDATE auditctx SET shard = number('audit/1')`));
    const named = (await run()).items.map(({ problem, itemKind, id }) => `${problem} ${itemKind} ${id}`);
    expect(named.sort()).toEqual(['extra auditctx app', 'missing auditctx app']);
  });

  it('counts all and names a hundred', async () => {
    await fill();
    await store.tamper((db) =>
      db.exec(`UPDATE auditevent SET source = '{}' WHERE shard IN (number('audit/0'), number('audit/1'))`),
    );
    const { differences, items, omitted } = await run();
    expect([differences.altered, items.length, omitted]).toEqual([701, 100, 601]);
  });

  it('leaves out what has expired, and does not count it', async () => {
    await fill();
    const [event] = (await everything(store.model)) as StoredDocument[];
    store.retention.setLimit('acme', 'app', (event?.place.time ?? 0) + 60_000);
    const report = await run();
    expect(report.differences).toEqual(NONE);
    expect(report.compared).toBeLessThan(20);
  });

  it('continues with records written meanwhile, and switches readers', async () => {
    await fill();
    const stop = new AbortController();
    let written = 0;
    const writing = (async () => {
      for (; !stop.signal.aborted; written += 1) {
        await store.log.append([store.event(`live-${written}`)]);
        if (written % 10 === 0) await store.setRetention('app', 10 + written);
        await turn();
      }
    })();
    const reports = [await run(), await run(), await run()];
    // On a busy machine a rebuild can be faster than a few appends.
    while (written <= 20) reports.push(await run());
    stop.abort();
    await writing;
    await store.settled();

    expect(written).toBeGreaterThan(20);
    expect(reports.map(({ differences }) => differences)).toEqual(reports.map(() => NONE));
    const last = `live-${written - 1}`;
    const query = {
      org: 'acme',
      order: 'received',
      limit: 1,
      filters: [{ field: 'resourceName', op: '=', value: last }],
    } as const;
    expect((await store.model.search('auditevent', query)).items).toHaveLength(1);
    expect((await run()).compared).toBe((await everything(store.model)).length);
  });

  it('lets everything else run in between', async () => {
    await store.publish(2_000);
    await store.settled();
    const turns = countTurns();
    const written: [turn: number, writes: number][] = [];
    const model = changed(store.model, (next) => ({
      apply: (...args) => {
        written.push([turns.count, args[1].length]);
        return next.apply(...args);
      },
    }));
    await run({ model });
    turns.stop();
    expect(written.every(([, writes]) => writes <= 100)).toBe(true);
    expect(new Set(written.map(([at]) => at)).size).toBe(written.length);
    expect(written.length).toBeGreaterThanOrEqual(20);
  });

  it('reports its progress', async () => {
    await fill();
    const told: string[] = [];
    await rebuild(store.parts, (phase, done, total) => told.push(`${phase} ${done}/${total}`), never);
    expect(told).toContain('filling 100/708');
    expect(told).toContain('comparing 708/708');
  });
});

describe('a rebuild that cannot be finished', () => {
  const unchanged = async (work: () => Promise<unknown>, message: RegExp) => {
    await fill();
    const before = await everything(store.model);
    const { generation } = await store.model.progress('audit');
    await expect(work()).rejects.toThrow(message);
    expect((await store.model.progress('audit')).generation).toBe(generation);
    expect(await everything(store.model)).toEqual(before);
    expect(store.files).toEqual(['read-model.db']);
    await store.publish(1);
    await store.settled();
    expect((await run()).differences).toEqual(NONE);
  };

  it('changes nothing when it is aborted', () => {
    const stop = new AbortController();
    const aborted = async () =>
      rebuild(
        store.parts,
        (_phase, done) => {
          if (done > 300) stop.abort(new Error('enough'));
        },
        stop.signal,
      );
    return unchanged(aborted, /enough/);
  });

  it('changes nothing when the new generation lacks what was applied to it', () => {
    const model = changed(store.model, (next) => ({
      apply: (topic, writes, progress) =>
        next
          .apply(
            topic,
            writes.filter(({ id }) => !id.startsWith('00000042')),
            progress,
          )
          .then(() => writes.map(({ id }) => ({ code: 'applied', id }))),
    }));
    return unchanged(() => run({ model }), /the new generation lacks the auditevent 00000042-.* of audit\/\d\/\d+/);
  });

  it('changes nothing when the seal lapses again and again', () => {
    return unchanged(() => run({ leaseMs: 0 }), /did not get complete within 0 ms, 5 times/);
  });

  it('changes nothing when another one begins', () => {
    let begun = false;
    const model = changed(store.model, (next) => ({
      apply: async (...args) => {
        if (!begun) await (await store.model.begin()).discard();
        begun = true;
        return next.apply(...args);
      },
    }));
    return unchanged(() => run({ model }), /the generation no longer exists/);
  });
});

it('a seal that lapses is made again, and what came meanwhile is taken along', async () => {
  await fill();
  let seals = 0;
  const model = changed(store.model, (next) => ({
    seal: async (leaseMs) => {
      seals += 1;
      const ends = await next.seal(seals === 1 ? 1 : leaseMs);
      if (seals === 1) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        await store.publish(5, 'late');
        await store.settled();
      }
      return ends;
    },
  }));
  const report = await run({ model });
  expect([seals, report.differences, report.records]).toEqual([2, NONE, 713]);
  expect((await store.model.count('auditevent', 'acme')).get('app')).toBe(706);
});

it('a store that fails for a moment does not end it', async () => {
  await fill();
  let calls = 0;
  const model = changed(store.model, (next) => ({
    apply: async (...args) => {
      calls += 1;
      if (calls % 5 === 0) throw new Error('busy');
      return next.apply(...args);
    },
  }));
  expect((await run({ model })).differences).toEqual(NONE);
});
