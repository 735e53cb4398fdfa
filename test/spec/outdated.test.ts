import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import type { Maintenance } from '../../src/commands/upkeep.js';
import { Jobs } from '../../src/commands/upkeep-jobs.js';
import { rebuildOutdated } from '../../src/composition/upkeep.js';
import type { Offsets, Topic } from '../../src/event-log/event-log.js';
import { systemClock } from '../../src/platform/clock.js';
import { systemIds } from '../../src/platform/ids.js';
import { MemoryJobBoard } from '../../src/read-model/embedded/job-board.js';

const silent = pino({ level: 'silent' });
const PACE = { look: 1, retry: 5 };

/** One process on a read model, until it stops. */
class Process {
  rebuilds = 0;
  carried: Offsets = { 0: 7 };
  readonly jobs = new Jobs(new MemoryJobBoard(), 'test', systemClock, systemIds(systemClock), silent);
  private readonly stopping = new AbortController();
  private readonly running: Promise<void>;

  constructor(
    private readonly model: { outdated: boolean },
    private readonly before: (rebuild: number) => Promise<void> = async () => undefined,
  ) {
    const maintenance: Maintenance = {
      rebuild: async () => {
        this.rebuilds += 1;
        await this.before(this.rebuilds);
        this.model.outdated = false;
        return {};
      },
      reconcile: async () => ({}),
      checkTrees: async () => ({}),
    };
    const { carriedBy } = this;
    const store = { isOutdated: () => this.model.outdated };
    this.running = rebuildOutdated(store, carriedBy, this.jobs, maintenance, silent, this.stopping.signal, PACE);
  }

  private get carriedBy(): ReadonlyMap<Topic, { readonly indexed: Offsets }> {
    const get = () => this.carried;
    const control = {
      get indexed() {
        return get();
      },
    };
    return new Map([['control', control]]);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
    await this.jobs.stop();
  }
}

async function until(done: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await done())) await delay(1);
}

describe('a read model that an earlier version made', () => {
  let processes: Process[] = [];
  const start = (...args: ConstructorParameters<typeof Process>) => {
    const process = new Process(...args);
    processes.push(process);
    return process;
  };

  afterEach(async () => {
    await Promise.all(processes.map((process) => process.stop()));
    processes = [];
  });

  it('is rebuilt once, as the job that operators see', async () => {
    const model = { outdated: true };
    const process = start(model);
    await until(async () => (await process.jobs.state('rebuild')).state === 'done');
    await delay(20);
    expect([process.rebuilds, model.outdated]).toEqual([1, false]);
  });

  it('is rebuilt by the process that carries control, and by no other', async () => {
    const model = { outdated: true };
    const idle = start(model);
    idle.carried = {};
    await delay(20);
    expect(idle.rebuilds).toBe(0);
    const carrier = start(model);
    await until(() => !model.outdated);
    expect([idle.rebuilds, carrier.rebuilds]).toEqual([0, 1]);
  });

  it('is rebuilt again after a rebuild that failed', async () => {
    const model = { outdated: true };
    const process = start(model, async (rebuild) => {
      if (rebuild < 3) throw new Error('Elasticsearch is full');
    });
    await until(() => !model.outdated);
    expect(process.rebuilds).toBe(3);
  });

  it('waits for a job that runs', async () => {
    const model = { outdated: false };
    const process = start(model);
    const { promise, resolve } = Promise.withResolvers<object>();
    await process.jobs.start('reconcile', () => promise);
    model.outdated = true;
    await delay(20);
    expect(process.rebuilds).toBe(0);
    resolve({});
    await until(() => !model.outdated);
    expect(process.rebuilds).toBe(1);
  });
});

it('leaves a read model of this version alone', async () => {
  const process = new Process({ outdated: false });
  await delay(20);
  await process.stop();
  expect(process.rebuilds).toBe(0);
});
