import { pino } from 'pino';
import { systemClock } from '../../src/platform/clock.js';
import { Elasticsearch } from '../../src/platform/elasticsearch.js';
import { ElasticsearchJobBoard } from '../../src/read-model/elasticsearch/job-board.js';
import { Names } from '../../src/read-model/elasticsearch/names.js';
import type { ElasticsearchReadModel } from '../../src/read-model/elasticsearch/read-model.js';
import { Gate, Handles } from '../contract/elasticsearch.harness.js';
import { settled, sleep } from '../contract/harness.js';
import { DONE, JOB, type JobBoardHarness, jobBoardContract, OTHER, REFUSED } from '../contract/job-board.contract.js';
import { event, found, LEASE_MS, store } from '../contract/read-model.harness.js';
import { clusterSuite } from './support.js';

const PACE = { beat: 50, lapse: 3_000 };
const never = new AbortController().signal;
const LIVES = { state: 'running', ...JOB };
const DEAD = { ...JOB, state: 'failed', error: expect.stringContaining('host-a/1 that ran it gave no sign of life') };

/** Boards as several processes have them, each with a watch. */
class Boards implements JobBoardHarness {
  readonly handles: Handles;
  private readonly ends: (() => Promise<void>)[] = [];

  constructor(private readonly url: string) {
    this.handles = new Handles(url);
  }

  /** A board that reaches Elasticsearch through a gate; shut, its process stands still, as far as others see. */
  async gated(): Promise<{ board: ElasticsearchJobBoard; gate: Gate }> {
    const gate = await Gate.open(this.url);
    const board = await this.open(undefined, gate.url);
    this.ends.push(() => gate.close());
    return { board, gate };
  }

  async open(model?: ElasticsearchReadModel, url = this.url): Promise<ElasticsearchJobBoard> {
    const es = new Elasticsearch({ nodes: [url] });
    const board = new ElasticsearchJobBoard({
      ...{ es, names: new Names(this.handles.prefix), replicas: 0, generations: () => model?.generations },
      ...{ clock: systemClock, logger: pino({ level: 'silent' }), pace: PACE },
    });
    const stop = new AbortController();
    const watching = board.watch(stop.signal);
    this.ends.push(async () => {
      stop.abort();
      await watching;
      await es.close();
    });
    return board;
  }

  async destroy(): Promise<void> {
    for (const end of this.ends) await end();
    await this.handles.destroy();
  }
}

clusterSuite('jobs of several processes', ({ elasticsearchUrl }) => {
  jobBoardContract('elasticsearch', async () => new Boards(elasticsearchUrl));

  const it = (name: string, body: (boards: Boards) => Promise<void>) =>
    test(name, async () => {
      const boards = new Boards(elasticsearchUrl);
      await body(boards).finally(() => boards.destroy());
    });

  /** Waits until the board shows the job so. */
  async function until(board: ElasticsearchJobBoard, state: object): Promise<void> {
    for (const deadline = Date.now() + 30_000; Date.now() < deadline; await sleep(20)) {
      const job = await board.read('rebuild');
      if (job.state === (state as { state: string }).state) break;
    }
    expect(await board.read('rebuild')).toMatchObject(state);
  }

  it('fails a job whose process died, and removes the generation that it had begun', async (boards) => {
    const model = await boards.handles.open();
    await store(model, [event(1)]);
    const [theirs, { board: mine, gate }] = [await boards.open(model), await boards.gated()];
    const claim = await mine.claim('rebuild', JOB);
    await (await boards.handles.open()).begin();
    gate.shut();
    expect(await settled(theirs.claim('rebuild', OTHER))).toMatchObject(REFUSED);
    await until(theirs, DEAD);

    expect((await model.generations.entries()).map(({ isLive }) => isLive)).toEqual([true]);
    expect(await found(model)).toEqual([1]);
    gate.unshut();
    await claim.finish(DONE, never);
    await (await theirs.claim('rebuild', OTHER)).finish(DONE, never);
  });

  it('tells a process that stood still that its job was taken for dead, and it can promote nothing', async (boards) => {
    const model = await boards.handles.open();
    const [theirs, { board: mine, gate }] = [await boards.open(model), await boards.gated()];
    const claim = await mine.claim('rebuild', JOB);
    const next = await (await boards.handles.open()).begin();
    await store(next, [event(1)]);
    await next.seal(LEASE_MS);
    gate.shut();
    await until(theirs, DEAD);
    expect(await settled(next.promote())).toMatchObject({ error: { name: 'GenerationLost' } });
    expect(claim.lost.aborted).toBe(false);
    gate.unshut();
    await claim.finish(DONE, never);

    expect(claim.lost).toMatchObject({
      aborted: true,
      reason: { message: expect.stringContaining('no sign of life') },
    });
    expect(await theirs.read('rebuild')).toMatchObject(DEAD);
  });

  it('writes the claim again when its index was lost, so that others are refused', async (boards) => {
    const [mine, theirs] = [await boards.open(), await boards.open()];
    const claim = await mine.claim('rebuild', JOB);
    for (let loss = 0; loss < 3; loss += 1) {
      await boards.handles.wipe();
      expect(await settled(theirs.claim('rebuild', OTHER))).toMatchObject(REFUSED);
      expect(await theirs.read('rebuild')).toMatchObject(LIVES);
    }
    expect(claim.lost.aborted).toBe(false);
    await boards.handles.wipe();
    await claim.finish(DONE, never);
    expect(await theirs.read('rebuild')).toEqual({ ...JOB, ...DONE });
  });

  it('goes on when Elasticsearch is away from all for longer than the lapse', async (boards) => {
    const { board, gate } = await boards.gated();
    const claim = await board.claim('rebuild', JOB);
    // Through the same gate: nobody can read the board meanwhile.
    for (let outage = 0; outage < 3; outage += 1) {
      gate.shut();
      await sleep(1.5 * PACE.lapse);
      gate.unshut();
      await until(board, LIVES);
    }
    expect(claim.lost.aborted).toBe(false);
    await claim.finish(DONE, never);
  });
});
