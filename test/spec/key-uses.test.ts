import { pino } from 'pino';
import { KeyUses } from '../../src/commands/key-uses.js';
import { ControlError } from '../../src/contract/errors.js';
import { emptyFold, foldRecord, readFold, versionOf } from '../../src/control/fold.js';
import { controlRecordOf } from '../../src/control/record.js';
import { ControlState } from '../../src/control/state.js';
import type { EventLog, LogEntry, LogRecord } from '../../src/event-log/event-log.js';
import type { ControlEvent } from '../../src/model/control-events.js';
import { keysRevoked, keyUsed } from '../../src/model/key.js';
import { at, recordOf } from './decider.js';
import { key, org, past } from './past.js';

const ADMIN = '/org/acme/serviceaccount/admin';
const FIRST = 'hash of admin';
const DAY = 24 * 60 * 60 * 1000;

/** A log that takes what is appended, or fails; and the state that folds it. */
class World {
  readonly fold = emptyFold();
  readonly records: LogRecord[] = [];
  readonly clock = { time: Date.parse('2026-01-02T23:00:00Z'), now: () => this.clock.time };
  fails = false;
  /** Appends that were asked for, whatever became of them. */
  asked = 0;

  constructor() {
    this.take(past(org, key('admin', 'second')));
  }

  get read() {
    return readFold(this.fold);
  }

  /** Of one process. */
  uses(): KeyUses {
    const log = { append: (entries: readonly LogEntry[]) => this.append(entries) } as unknown as EventLog;
    return new KeyUses(log, new ControlState(log, this.fold), this.clock, pino({ level: 'silent' }));
  }

  take(events: readonly ControlEvent[]): void {
    foldRecord(this.fold, recordOf(`past ${this.fold.streams.size}`, events, {}), at(0));
  }

  /** The days of use by key, in the records of the log. */
  get days(): string[] {
    return this.records.flatMap((record) =>
      controlRecordOf(record).events.flatMap((event) =>
        event.type === 'key-used' ? `${event.stream} ${event.day}` : [],
      ),
    );
  }

  private async append(entries: readonly LogEntry[]): Promise<void> {
    this.asked += 1;
    if (this.fails) throw new ControlError('log_unavailable', 'the log is away');
    for (const { key: name, headers, value } of entries) {
      const offset = this.records.length + 1;
      const place = { topic: 'control', partition: 0, offset, time: this.clock.time } as const;
      const record: LogRecord = { ...place, key: name, headers, value };
      this.records.push(record);
      foldRecord(this.fold, controlRecordOf(record), place);
    }
  }
}

let world: World;

beforeEach(() => {
  world = new World();
});

/** Records at once what would be recorded soon. */
const gathered = async (...processes: readonly KeyUses[]) => {
  for (const uses of processes) await uses.close();
};

describe('the day of the last use of a key', () => {
  it('is recorded once a day, of many keys in one record', async () => {
    const uses = world.uses();
    for (const hash of [FIRST, 'second', FIRST]) uses.note(hash);
    expect(world.asked).toBe(0);
    await gathered(uses);
    for (const hash of [FIRST, 'second']) uses.note(hash);
    await gathered(uses);
    expect([world.asked, world.days]).toEqual([1, [`keyuse/${FIRST} 2026-01-02`, 'keyuse/second 2026-01-02']]);
    expect(world.read.keysOf(ADMIN).map(({ state }) => state.lastUsed)).toEqual(['2026-01-02', '2026-01-02']);
    world.clock.time += 2 * 60 * 60 * 1000;
    uses.note(FIRST);
    await gathered(uses);
    expect(world.read(`key/${FIRST}`)?.lastUsed).toBe('2026-01-03');
    expect(world.read('key/second')?.lastUsed).toBe('2026-01-02');
  });

  it('is recorded at a later use if the log did not take it', async () => {
    const uses = world.uses();
    world.fails = true;
    uses.note(FIRST);
    await gathered(uses);
    expect([world.asked, world.read(`key/${FIRST}`)?.lastUsed]).toEqual([1, undefined]);
    await gathered(uses);
    expect(world.asked).toBe(1);
    world.fails = false;
    uses.note(FIRST);
    await gathered(uses);
    expect(world.read(`key/${FIRST}`)?.lastUsed).toBe('2026-01-02');
  });

  it('is applied once when several processes record it', async () => {
    const processes = [world.uses(), world.uses()];
    for (const uses of processes) uses.note(FIRST);
    await Promise.all(processes.map((uses) => gathered(uses)));
    expect(new Set(world.records.map((record) => record.key)).size).toBe(1);
    for (const uses of processes) uses.note(FIRST);
    await Promise.all(processes.map((uses) => gathered(uses)));
    expect(world.read(`key/${FIRST}`)?.lastUsed).toBe('2026-01-02');
    expect(world.asked).toBe(2);
  });

  it('is recorded when the process ends', async () => {
    const uses = world.uses();
    uses.note(FIRST);
    await uses.close();
    expect(world.days).toEqual([`keyuse/${FIRST} 2026-01-02`]);
    await gathered(uses);
    expect(world.asked).toBe(1);
  });

  it('does not go back', () => {
    world.take([keyUsed(FIRST, '2026-01-03')]);
    world.take([keyUsed(FIRST, '2026-01-01')]);
    expect(world.read(`key/${FIRST}`)?.lastUsed).toBe('2026-01-03');
  });

  it('changes no version, so nothing that rests on the key or on permissions is void because of it', () => {
    const versions = () => [versionOf(world.fold, `key/${FIRST}`), versionOf(world.fold, 'authz/acme')];
    const before = versions();
    world.take([keyUsed(FIRST, '2026-01-02')]);
    expect(versions()).toEqual(before);
  });

  it('goes with the key, and a use that is recorded later leaves nothing', async () => {
    const uses = world.uses();
    uses.note(FIRST);
    const ids = () => 'id';
    world.take(keysRevoked(world.read, ADMIN, ids));
    const [streams, families] = [[...world.fold.streams.keys()], [...world.fold.families.keys()]];
    await gathered(uses);
    expect(world.days).toEqual([`keyuse/${FIRST} 2026-01-02`]);
    expect([[...world.fold.streams.keys()], [...world.fold.families.keys()]]).toEqual([streams, families]);
    uses.note(FIRST);
    world.clock.time += DAY;
    uses.note(FIRST);
    await gathered(uses);
    expect(world.asked).toBe(1);
  });
});
