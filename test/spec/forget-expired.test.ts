import { setTimeout as delay } from 'node:timers/promises';
import { forgetExpired } from '../../src/composition/upkeep.js';
import { emptyFold } from '../../src/control/fold.js';
import { ControlState } from '../../src/control/state.js';
import type { Offsets, Topic } from '../../src/event-log/event-log.js';
import { EmbeddedTestStore } from '../support/store.js';

const START = Date.UTC(2026, 0, 1);
const DAY_MS = 24 * 60 * 60 * 1_000;
const PACE = { every: 1, grace: DAY_MS };
/** `setRetention` with version 1. */
const RETENTION_DAYS = 1_001;
const day = (n: number) => START + n * DAY_MS;

let store: EmbeddedTestStore;
let state: ControlState;
let folding: Promise<void>;
const stop = new AbortController();

beforeAll(async () => {
  store = await EmbeddedTestStore.open();
  store.now.ms = day(0);
  await store.createOrg('acme');
  await store.setRetention('app', 1);
  await store.publish(10);
  store.now.ms = day(500);
  await store.publish(5, 'later');
  await store.settled();
  state = new ControlState(store.log, emptyFold(), 'alone');
  folding = state.run(stop.signal);
});

afterAll(async () => {
  stop.abort();
  await folding;
  await store.remove();
});

/** What is deleted when the clock and the last indexed record say so, after several periods. */
async function deleted(clock: number, indexed: number, control: Offsets = { 0: 3 }): Promise<Offsets[]> {
  const ends: Offsets[] = [];
  const times: Offsets[] = [];
  const end = new AbortController();
  const forgetting = { deleteBefore: async (before: Offsets) => void ends.push(before) };
  const runners = new Map<Topic, { indexed: Offsets; lastIndexedTime: number }>([
    ['audit', { indexed: { 0: 15 }, lastIndexedTime: indexed }],
    ['control', { indexed: control, lastIndexedTime: day(0) }],
  ]);
  const { log, model, logger } = store;
  const confirmed = { fold: state.fold, confirm: () => state.confirm().then(() => void times.push({})) };
  const now = { now: () => clock };
  const running = forgetExpired({ log, model, forgetting }, runners, confirmed, now, logger, end.signal, PACE);
  for (let look = 0; look < 1_000 && times.length < 3 && Object.keys(control).length > 0; look += 1) await delay(2);
  if (Object.keys(control).length === 0) await delay(30);
  end.abort();
  await running;
  return ends;
}

describe('records at the beginning of the log', () => {
  const due = day(RETENTION_DAYS + 1.5);

  it('are deleted a day after they expired, up to the first that is served', async () => {
    const ends = await deleted(due, due);
    expect(new Set(ends.map((end) => JSON.stringify(end)))).toEqual(new Set(['{"0":10}']));
  });

  it('stay for a day after they expired', async () => {
    expect(await deleted(day(RETENTION_DAYS + 0.5), day(RETENTION_DAYS + 0.5))).toEqual([]);
  });

  it('stay while the log is not as late as a clock that is ahead', async () => {
    expect(await deleted(day(9_000), day(500))).toEqual([]);
  });

  it('stay while the clock of the process is behind', async () => {
    expect(await deleted(day(500), due)).toEqual([]);
  });

  it('are left to the process that carries control', async () => {
    expect(await deleted(due, due, {})).toEqual([]);
  });
});
