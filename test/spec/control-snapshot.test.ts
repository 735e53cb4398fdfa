import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { type TableImage, WORDS } from '../../src/control/digest-table.js';
import { type ControlFold, emptyFold } from '../../src/control/fold.js';
import { imageOf } from '../../src/control/fold-image.js';
import { ControlSnapshots } from '../../src/control/snapshot.js';
import { ControlState } from '../../src/control/state.js';
import { EmbeddedEventLog } from '../../src/event-log/embedded/event-log.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import { begun } from '../../src/model/resource.js';
import { invitationStream } from '../../src/model/streams.js';
import { controlProjection, controlProjectionFrom } from '../../src/projections/control.js';
import { Seed } from '../support/seed.js';

const logger = pino({ level: 'silent' });
/** More than are folded again after a regular stop. */
const RECORDS = 5_200;

/** All that the fold holds; rows of tables have no order. */
function contents(fold: ControlFold) {
  const { deleted, commands, ...others } = imageOf(fold);
  return { ...others, deleted: rowsOf(deleted), commands: { ...commands, table: rowsOf(commands.table) } };
}

function rowsOf({ digests, numbers }: TableImage): string[] {
  const rows = digests.length / WORDS;
  const width = numbers.length / rows;
  const row = (n: number) => [
    ...digests.subarray(n * WORDS, (n + 1) * WORDS),
    ...numbers.subarray(n * width, (n + 1) * width),
  ];
  return Array.from({ length: rows }, (_, n) => row(n).join(' ')).sort();
}

describe('a snapshot of the fold', () => {
  let folder: string;
  let log: EmbeddedEventLog;
  const seed = new Seed();

  const file = () => join(folder, 'control.snapshot');
  const snapshots = (of: EventLog = log) => new ControlSnapshots(file(), of, logger);

  async function append(count: number): Promise<void> {
    for (let n = 0; n < count; n += 1) seed.account('acme', `robot-${n}-${seed.now}`);
    await log.append(seed.take());
    seed.now += 1;
  }

  /** Runs a state until it has everything, and stops it. Says where it began to read. */
  async function run(kept = snapshots()): Promise<{ readonly state: ControlState; readonly from: number }> {
    let from = -1;
    const seen = new Proxy<EventLog>(log, {
      get: (target, name) => {
        if (name !== 'read') return Reflect.get(target, name, target);
        return (...[topic, start, signal]: Parameters<EventLog['read']>) => {
          if (from < 0) from = start[0] ?? 0;
          return target.read(topic, start, signal);
        };
      },
    });
    const state = new ControlState(seen, emptyFold(), 'alone', kept);
    const stop = new AbortController();
    const loops = [state.run(stop.signal), kept.keep(state, stop.signal)];
    await state.startReached;
    stop.abort();
    await Promise.all(loops);
    return { state, from };
  }

  /** The state that a replay of everything gives. */
  async function replayed(): Promise<ReturnType<typeof contents>> {
    const { state } = await run(new ControlSnapshots(join(folder, 'none'), log, logger));
    return contents(state.fold);
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'control-snapshot-'));
    log = await EmbeddedEventLog.open({ file: join(folder, 'log.db') });
    seed.org('acme');
    seed.record((_read, { at, id }) => {
      const data = { ...begun(id(0), at), org: 'acme', email: 'ann@example.com', codeHash: '', expires: at };
      return [{ type: 'invitation-created', stream: invitationStream('acme', id(0)), auditId: id(1), data }];
    });
    await append(RECORDS);
  });

  beforeEach(async () => {
    if (existsSync(file())) return;
    await run();
  });

  afterAll(async () => {
    await log.close();
    rmSync(folder, { recursive: true });
  });

  it('is written at the stop, readable by its owner alone, and read at the next start', async () => {
    const head = (await log.head('control'))[0];
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    const { state, from } = await run();
    expect(from).toBe(head);
    expect(contents(state.fold)).toEqual(await replayed());
  });

  it('is followed by what the log took since', async () => {
    const head = (await log.head('control'))[0];
    await append(3);
    const { state, from } = await run();
    expect(from).toBe(head);
    expect(contents(state.fold)).toEqual(await replayed());
  });

  it.each([
    ['there', async () => snapshots()],
    [
      'at the state of the process',
      async () => (await run(new ControlSnapshots(join(folder, 'none'), log, logger))).state,
    ],
  ])('lets a projection begin %s, which writes what one from the start writes', async (_where, source) => {
    const head = (await log.head('control'))[0] ?? 0;
    const { project, from } = (await controlProjectionFrom(await source()).resume?.(head)) ?? {};
    expect(from).toBeGreaterThan(RECORDS);
    seed.key('/org/acme/serviceaccount/robot-7-again');
    seed.revokeKeys('/org/acme/serviceaccount/admin');
    await append(1);
    const whole = controlProjection.start();
    for await (const { records, next } of log.read('control', {}, AbortSignal.timeout(60_000))) {
      for (const record of records) {
        const expected = whole(record);
        if (record.offset >= (from ?? 0)) expect(project?.(record)).toEqual(expected);
      }
      if (next >= head + 3) break;
    }
  });

  it('is not written of a fold that ended within a batch', async () => {
    const kept = new ControlSnapshots(join(folder, 'broken'), log, logger);
    const fold = emptyFold();
    const state = new ControlState(log, fold, 'alone');
    const stop = new AbortController();
    const running = state.run(stop.signal);
    await state.startReached;
    const next = (await log.head('control'))[0] ?? 0;
    fold.commands.advance({ offset: next, time: 0 });
    stop.abort();
    await Promise.all([running, kept.keep(state, stop.signal)]);
    expect(existsSync(join(folder, 'broken'))).toBe(false);
  });

  it('is not used for a projection that is behind it, nor is the state of the process', async () => {
    const { state } = await run();
    for (const source of [snapshots(), state]) {
      const fold = emptyFold();
      expect(await source.load(fold, RECORDS)).toBe(0);
      expect(contents(fold)).toEqual(contents(emptyFold()));
    }
  });

  it('knows the letters of the last day, so that a start allows no more of them', async () => {
    const { state } = await run();
    const at = Date.now();
    const letters = state.fold.letters.to('ann@example.com', at);
    expect(letters).toHaveLength(1);
    const fold = emptyFold();
    expect(await snapshots().load(fold)).toBeGreaterThan(RECORDS);
    expect(fold.letters.to('ann@example.com', at)).toEqual(letters);
    expect(fold.letters.of('acme', at)).toEqual(letters);
  });

  it('is thrown away where any byte of it is another, and where it is not whole', async () => {
    const bytes = readFileSync(file());
    for (let n = 0; n < 40; n += 1) {
      const at = Math.floor((n * bytes.length) / 40);
      const damaged = Buffer.from(bytes);
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      writeFileSync(file(), n % 2 === 0 ? damaged : bytes.subarray(0, at));
      const fold = emptyFold();
      expect(await snapshots().load(fold)).toBe(0);
      expect(contents(fold)).toEqual(contents(emptyFold()));
    }
    rmSync(file());
  });

  it('is thrown away on another log, and where the log has another history', async () => {
    const other = join(folder, 'other.db');
    const another = await EmbeddedEventLog.open({ file: other });
    const otherSeed = new Seed();
    otherSeed.org('acme');
    for (let n = 0; n < RECORDS + 10; n += 1) otherSeed.account('acme', `robot-${n}`);
    await another.append(otherSeed.take());
    const pretends = new Proxy<EventLog>(another, {
      get: (target, name) => (name === 'id' ? log.id : Reflect.get(target, name, target)),
    });
    expect(await snapshots(another).load(emptyFold())).toBe(0);
    expect(await snapshots(pretends).load(emptyFold())).toBe(0);
    await another.close();
    expect(await snapshots().load(emptyFold())).toBeGreaterThan(RECORDS);
  });
});
