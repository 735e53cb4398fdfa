import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { auditEntry } from '../../src/event-log/audit-record.js';
import { EmbeddedEventLog } from '../../src/event-log/embedded/event-log.js';
import { type LogEntry, type LogRecord } from '../../src/event-log/event-log.js';
import { recordedEvent } from '../../src/model/audit-event.js';
import { Metrics } from '../../src/platform/metrics.js';
import { StoreUnusable } from '../../src/platform/store-unusable.js';
import { InProcessProgressFeed, type ProgressUpdate } from '../../src/progress/progress-feed.js';
import { auditProjection } from '../../src/projections/audit.js';
import { ProjectionRunner } from '../../src/projections/projection-runner.js';
import { EmbeddedReadModel } from '../../src/read-model/embedded/read-model.js';
import type { ReadModel } from '../../src/read-model/read-model.js';
import { PATIENCE } from '../support/patience.js';
import { AT } from './decider.js';

const silent = pino({ level: 'silent' });

const PUBLISHER = { link: '/org/acme/serviceaccount/admin', keyId: 'key-1', remoteIp: '::1' };

function event(id: string, hash?: string): LogEntry {
  const publication = { id, postedTime: AT, org: 'acme', contextName: 'default', remoteIp: '::1', requestId: 'r' };
  return auditEntry(
    recordedEvent({ resource: { name: 'db-1' } }, { ...publication, publisher: PUBLISHER, subject: { name: 'admin' } }),
    hash === undefined ? {} : { hash },
  );
}

describe('carrying the log into the read model', () => {
  let folder: string;
  let log: EmbeddedEventLog;
  let model: EmbeddedReadModel;
  let feed: InProcessProgressFeed;
  let updates: ProgressUpdate[];
  let stop: AbortController;
  let runner: ProjectionRunner;
  let running: Promise<void>;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'projection-'));
    log = await EmbeddedEventLog.open({ file: join(folder, 'log.db') });
    model = await EmbeddedReadModel.open({ file: join(folder, 'read-model.db'), logId: log.id, records: log });
    feed = new InProcessProgressFeed();
    updates = [];
    feed.subscribe((update) => updates.push(update));
    stop = new AbortController();
  });

  afterEach(async () => {
    stop.abort();
    await running;
    await model.close();
    await log.close();
    rmSync(folder, { recursive: true });
  });

  function start(into: ReadModel = model): void {
    runner = new ProjectionRunner(log, into, feed, auditProjection, new Metrics(), silent);
    running = runner.run(stop.signal);
  }

  async function until(done: () => boolean): Promise<void> {
    const deadline = Date.now() + 5_000 * PATIENCE;
    while (!done()) {
      if (Date.now() > deadline) throw new Error('it did not come to that');
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  const reached = (offset: number) => until(() => updates.some(({ searchable }) => searchable >= offset));

  it('indexes existing and later records, and reports both', async () => {
    await log.append([event('a')]);
    start();
    await reached(1);
    await log.append([event('b')]);
    await reached(2);
    expect((await model.get('auditevent', 'acme', 'b'))?.place.offset).toBe(1);
    expect(runner.status).toEqual({ caughtUp: true });
  });

  it('ends with the reason where no waiting makes the read model usable', async () => {
    model.progress = () => Promise.reject(new StoreUnusable('it has another mapping'));
    start();
    const ended = running;
    running = Promise.resolve();
    await expect(ended).rejects.toThrow('it has another mapping');
  });

  it('continues at the progress of the read model, and announces it', async () => {
    await log.append([event('a'), event('b')]);
    await model.apply('audit', [], { 0: 1 });
    start();
    await reached(2);
    expect(updates[0]).toMatchObject({ indexed: 1, searchable: 1 });
    expect(await model.get('auditevent', 'acme', 'a')).toBeUndefined();
    expect(await model.get('auditevent', 'acme', 'b')).toBeDefined();
  });

  it('names duplicates and conflicts by their place', async () => {
    await log.append([event('a', 'h1'), event('a', 'h1'), event('a', 'h2')]);
    start();
    await reached(3);
    expect(updates.flatMap(({ outcomes }) => outcomes)).toEqual([
      { offset: 1, code: 'duplicate', id: 'a' },
      { offset: 2, code: 'conflict', id: 'a' },
    ]);
  });

  const { value: whole } = event('x');
  it.each([
    ['is not JSON', Buffer.from('{"id":"x"')],
    ['is not an audit event', Buffer.from('{"id":"x"}')],
    ['is not UTF-8', Buffer.from([0xff, 0x00])],
    // Decoded, it would be an event with another character in the place of this byte.
    ['is not UTF-8', Buffer.concat([whole.subarray(0, -1), Buffer.from(',"note":"'), Buffer.from([0xff, 0x22, 0x7d])])],
  ])('puts a record that %s aside, with bytes, place and reason, and goes on', async (reason, value) => {
    const bad: LogEntry = { topic: 'audit', key: 'k', headers: { v: '1' }, value };
    await log.append([event('a'), bad, event('b')]);
    start();
    await reached(3);
    expect(await model.get('auditevent', 'acme', 'b')).toBeDefined();
    expect(updates.flatMap(({ outcomes }) => outcomes)).toEqual([{ offset: 1, code: 'dead_lettered', id: 'k' }]);
    const letters: LogRecord[] = [];
    const enough = new AbortController();
    for await (const batch of log.read('audit.dead', {}, enough.signal)) {
      letters.push(...batch.records);
      enough.abort();
    }
    expect(letters).toHaveLength(1);
    expect([...(letters[0]?.value ?? [])]).toEqual([...value]);
    expect(letters[0]?.headers).toMatchObject({ topic: 'audit', partition: '0', offset: '1', reason });
  });

  it('puts a record of a newer schema aside rather than guess', async () => {
    await log.append([{ ...event('a'), headers: { v: '2' } }]);
    start();
    await reached(1);
    expect(updates.at(-1)?.outcomes).toMatchObject([{ code: 'dead_lettered' }]);
  });

  it('has caught up when searches find what was there, not when it is only written', async () => {
    const refreshes: (() => void)[] = [];
    const refresh = () => new Promise<number>((resolve) => refreshes.push(() => resolve(1)));
    const slow = new Proxy(model, {
      get: (target, name) => {
        if (name === 'refresh') return refresh;
        if (name === 'refreshMs') return { waited: 1, idle: 1 };
        const value = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    await log.append([event('a')]);
    start(slow);
    await until(() => refreshes.length === 1);
    refreshes.shift()?.();
    await until(() => refreshes.length === 1);
    expect([await model.get('auditevent', 'acme', 'a'), runner.status]).toMatchObject([
      { id: 'a' },
      { caughtUp: false },
    ]);
    refreshes.shift()?.();
    await reached(1);
    expect(runner.status).toEqual({ caughtUp: true });
  });

  describe('when an empty read model takes the place of the one that had everything', () => {
    let lost: EmbeddedReadModel;

    beforeEach(async () => {
      lost = model;
      await log.append([event('a'), event('b')]);
    });

    afterEach(() => lost.close());

    /** The model as it is at each call, behind which it can be exchanged. */
    function startOnCurrent(refreshMs = lost.refreshMs): void {
      const current = new Proxy(lost, {
        get: (_, name) => {
          if (name === 'refreshMs') return refreshMs;
          const value = Reflect.get(model, name, model);
          return typeof value === 'function' ? value.bind(model) : value;
        },
      });
      start(current);
    }

    async function exchange(): Promise<void> {
      const [file, logId] = [join(folder, 'empty.db'), log.id];
      const empty = await EmbeddedReadModel.open({ file, logId, records: log });
      await rebuilt(empty);
      model = empty;
    }

    /** Empty as before, and of the next number. */
    async function rebuilt(empty: EmbeddedReadModel): Promise<void> {
      const next = await empty.begin();
      await next.seal(1_000);
      await next.promote();
    }

    const all = async (...names: string[]) =>
      (await Promise.all(names.map((name) => model.get('auditevent', 'acme', name)))).map((found) => found?.id);

    it('fills it though nothing is written', async () => {
      startOnCurrent();
      await reached(2);
      await exchange();
      updates.length = 0;
      await until(() => updates.some(({ generation, searchable }) => generation === 2 && searchable === 2));
      expect(await all('a', 'b')).toEqual(['a', 'b']);
    });

    it('fills it before it continues with new records', async () => {
      startOnCurrent();
      await reached(2);
      await exchange();
      await log.append([event('c')]);
      await reached(3);
      expect(await all('a', 'b', 'c')).toEqual(['a', 'b', 'c']);
    });

    it('never reports the progress of one for the other', async () => {
      startOnCurrent({ waited: 300, idle: 300 });
      await reached(2);
      await log.append([event('c')]);
      await until(() => runner.indexed[0] === 3);
      await exchange();
      const before = updates.length;
      await reached(3);
      expect(await all('a', 'b', 'c')).toEqual(['a', 'b', 'c']);
      const said = updates.slice(before).filter(({ searchable }) => searchable === 3);
      expect(said.map(({ generation }) => generation)).not.toContain(1);
    });
  });

  it('tries a failed write again until it works, and skips nothing', async () => {
    const apply = model.apply.bind(model);
    let failures = 3;
    model.apply = async (...args) => {
      failures -= 1;
      if (failures >= 0) throw new Error('the read model is down');
      return apply(...args);
    };
    await log.append([event('a')]);
    start();
    await until(() => runner?.status.stalled !== undefined);
    expect(runner.status).toEqual({ caughtUp: false, stalled: 'the read model is down' });
    await reached(1);
    expect(await model.get('auditevent', 'acme', 'a')).toBeDefined();
    expect(runner.status).toEqual({ caughtUp: true });
  });

  it('says that a partition is stuck while others progress', async () => {
    await model.close();
    await log.close();
    mkdirSync(join(folder, 'parts'));
    log = await EmbeddedEventLog.open({ file: join(folder, 'parts', 'log.db'), partitions: { audit: 3 } });
    model = await EmbeddedReadModel.open({ file: join(folder, 'parts', 'read-model.db'), logId: log.id, records: log });
    // Each partition on its own, as Kafka's consumers are.
    log.consume = async (topic, consumer, signal) => {
      const partitions = Object.keys(await log.head(topic)).map(Number);
      const from = await consumer.assigned(partitions);
      const carry = async (own: number) => {
        for await (const batch of log.read(topic, from, signal)) {
          if (batch.partition === own) await consumer.handle(batch);
        }
      };
      await Promise.all(partitions.map(carry));
    };
    const names = Array.from({ length: 20 }, (_, n) => `e${n}`);
    const spread = (all: readonly string[]) => log.append(all.map((name) => ({ ...event(name), key: name })));
    await spread(names);
    const heads = await log.head('audit');
    const [stuck = '', other = ''] = Object.keys(heads);
    expect(other).not.toBe('');
    const apply = model.apply.bind(model);
    let isStuck = true;
    model.apply = async (topic, writes, progress, from) => {
      if (isStuck && stuck in progress) throw new Error('its index is gone');
      return apply(topic, writes, progress, from);
    };
    start();
    await until(() => updates.some(({ partition, searchable }) => partition === Number(other) && searchable > 0));
    await until(() => runner.status.stalled !== undefined);
    for (let n = 0; n < 20; n += 1) {
      const before = updates.length;
      await spread(Array.from({ length: 20 }, (_, at) => `later ${n} ${at}`));
      await until(() => updates.length > before);
      expect(runner.status.stalled).toBe('its index is gone');
    }
    isStuck = false;
    await until(() => runner.status.caughtUp && runner.status.stalled === undefined);
  });

  it('announces all partitions at once', async () => {
    await model.close();
    await log.close();
    mkdirSync(join(folder, 'parts'));
    log = await EmbeddedEventLog.open({ file: join(folder, 'parts', 'log.db'), partitions: { audit: 12 } });
    model = await EmbeddedReadModel.open({ file: join(folder, 'parts', 'read-model.db'), logId: log.id, records: log });
    const all = Promise.withResolvers<void>();
    const announced = new Set<number>();
    feed.publish = async ({ partition }) => {
      announced.add(partition);
      if (announced.size === 12) all.resolve();
      await all.promise;
    };
    start();
    await until(() => announced.size === 12);
  });

  it('says nothing before the write is done', async () => {
    model.apply = async () => {
      throw new Error('the read model is down');
    };
    await log.append([event('a')]);
    start();
    await until(() => runner?.status.stalled !== undefined);
    expect(updates.every(({ searchable }) => searchable === 0)).toBe(true);
  });
});
