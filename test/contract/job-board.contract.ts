import type { JobBoard, NewJob } from '../../src/read-model/job-board.js';
import { cases, settled, sleep } from './harness.js';

export interface JobBoardHarness {
  /** Of one more process. */
  open(): Promise<JobBoard>;
  destroy(): Promise<void>;
}

const never = new AbortController().signal;

export const JOB: NewJob = {
  id: '01890a5d-ac96-7000-8000-000000000001',
  process: 'host-a/1',
  started: '2026-06-01T12:00:00.000Z',
};
export const OTHER: NewJob = { ...JOB, id: '01890a5d-ac96-7000-8000-000000000002', process: 'host-b/2' };
export const DONE = { state: 'done', finished: '2026-06-01T12:01:00.000Z', report: { found: [1, 'two'] } } as const;

/** That a second job was refused, because of the first. */
export const REFUSED = {
  error: {
    code: 'conflict',
    message: expect.stringMatching(`rebuild ${JOB.id} is running in process host-a/1 since ${JOB.started}`),
    details: { running: 'rebuild', ...JOB },
  },
};

/** What every board of jobs promises. */
export function jobBoardContract(name: string, open: () => Promise<JobBoardHarness>): void {
  const it = cases(open);

  describe(`job board contract: ${name}`, () => {
    it('has no job at first', async (harness) => {
      const board = await harness.open();
      expect(await board.read('rebuild')).toEqual({ state: 'idle' });
      expect(await board.read('reconcile')).toEqual({ state: 'idle' });
    });

    it('shows the progress and the report of a job to every process', async (harness) => {
      const [mine, theirs] = [await harness.open(), await harness.open()];
      const claim = await mine.claim('rebuild', JOB);
      expect(await theirs.read('rebuild')).toEqual({ state: 'running', ...JOB, phase: 'starting', done: 0, total: 0 });
      claim.tell({ phase: 'filling', done: 3, total: 9 });
      const told = { state: 'running', ...JOB, phase: 'filling', done: 3, total: 9 };
      for (let look = 0; look < 500 && !(await isTold(theirs)); look += 1) await sleep(10);
      expect(await theirs.read('rebuild')).toEqual(told);
      await claim.finish(DONE, never);
      for (const board of [mine, theirs]) expect(await board.read('rebuild')).toEqual({ ...JOB, ...DONE });
      expect(claim.lost.aborted).toBe(false);
    });

    it('refuses another job while one runs, naming the one that runs', async (harness) => {
      const [mine, theirs] = [await harness.open(), await harness.open()];
      const claim = await mine.claim('rebuild', JOB);
      for (const board of [mine, theirs]) {
        expect(await settled(board.claim('rebuild', OTHER))).toMatchObject(REFUSED);
        expect(await settled(board.claim('reconcile', OTHER))).toMatchObject(REFUSED);
      }
      expect(await theirs.read('reconcile')).toEqual({ state: 'idle' });
      await claim.finish(DONE, never);
      await (await theirs.claim('reconcile', OTHER)).finish(DONE, never);
    });

    it('gives the claim to one of many that ask at once', async (harness) => {
      const boards = await Promise.all(Array.from({ length: 5 }, () => harness.open()));
      const claims = await Promise.all(boards.map((board) => settled(board.claim('rebuild', JOB))));
      const won = claims.flatMap((one) => ('value' in one ? [one.value] : []));
      expect(won).toHaveLength(1);
      for (const one of claims) if ('error' in one) expect(one).toMatchObject(REFUSED);
      await won[0]?.finish(DONE, never);
    });

    it('keeps the last job of each name', async (harness) => {
      const board = await harness.open();
      await (await board.claim('reconcile', JOB)).finish(DONE, never);
      const failed = { state: 'failed', finished: DONE.finished, error: 'the disk is full' } as const;
      await (await board.claim('rebuild', JOB)).finish(failed, never);
      expect(await board.read('rebuild')).toEqual({ ...JOB, ...failed });
      expect(await board.read('reconcile')).toEqual({ ...JOB, ...DONE });
      const again = await board.claim('rebuild', OTHER);
      expect(await board.read('rebuild')).toMatchObject({ state: 'running', ...OTHER });
      await again.finish(DONE, never);
      expect(await board.read('rebuild')).toEqual({ ...OTHER, ...DONE });
    });
  });
}

async function isTold(board: JobBoard): Promise<boolean> {
  const job = await board.read('rebuild');
  return job.state === 'running' && job.done === 3;
}
