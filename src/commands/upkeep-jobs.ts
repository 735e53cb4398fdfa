import type { Logger } from 'pino';
import { ControlError } from '../contract/errors.js';
import { type Clock, isoTime } from '../platform/clock.js';
import type { Ids } from '../platform/ids.js';
import type { Claim, JobBoard, JobName, JobOutcome, JobState } from '../read-model/job-board.js';

export type { JobName, JobState } from '../read-model/job-board.js';

/** How far it is: `done` of `total` records in this phase, as far as is known. */
export type Tell = (phase: string, done: number, total: number) => void;

/** Answers its report. Ends soon when the signal aborts. */
export type Work = (tell: Tell, signal: AbortSignal) => Promise<object>;

export interface StartedJob {
  readonly state: JobState;
  /** Never rejects. */
  readonly ended: Promise<JobOutcome>;
}

/** Work of an operator that takes longer than a request: done in the background, one at a time on a read model. */
export class Jobs {
  private readonly abort = new AbortController();
  private readonly underWay = new Set<Promise<JobOutcome>>();

  constructor(
    private readonly board: JobBoard,
    /** The name of this process, for operators. */
    private readonly process: string,
    private readonly clock: Clock,
    private readonly ids: Ids,
    private readonly logger: Logger,
  ) {}

  /** Throws `conflict` while any job runs, in any process. */
  async start(name: JobName, work: Work): Promise<StartedJob> {
    if (this.abort.signal.aborted) throw new ControlError('not_ready', 'the process is stopping');
    const job = { id: this.ids.next(), process: this.process, started: isoTime(this.clock.now()) };
    const claim = await this.board.claim(name, job);
    const ended = this.run({ job: name, id: job.id }, claim, work);
    this.underWay.add(ended);
    void ended.then(() => this.underWay.delete(ended));
    return { state: { state: 'running', ...job, phase: 'starting', done: 0, total: 0 }, ended };
  }

  state(name: JobName): Promise<JobState> {
    return this.board.read(name);
  }

  /** Aborts what runs in this process, and resolves when it has ended. Nothing starts any more. */
  async stop(): Promise<void> {
    this.abort.abort(new Error('the process is stopping'));
    await Promise.all(this.underWay);
  }

  private async run(
    job: { readonly job: JobName; readonly id: string },
    claim: Claim,
    work: Work,
  ): Promise<JobOutcome> {
    this.logger.info(job, 'a job starts');
    const outcome = await this.outcomeOf(job, claim, work);
    if (outcome.state === 'done') this.logger.info(job, 'the job is done');
    await claim.finish(outcome, this.abort.signal).catch((err: unknown) => {
      this.logger.warn({ err, ...job }, 'the end of the job was not written; other processes will take it for dead');
    });
    return outcome;
  }

  private async outcomeOf(job: object, claim: Claim, work: Work): Promise<JobOutcome> {
    const tell: Tell = (phase, done, total) => claim.tell({ phase, done, total });
    try {
      const report = await work(tell, AbortSignal.any([this.abort.signal, claim.lost]));
      return { state: 'done', finished: isoTime(this.clock.now()), report };
    } catch (err) {
      this.logger.error({ err, ...job }, 'the job failed');
      return { state: 'failed', finished: isoTime(this.clock.now()), error: (err as Error).message };
    }
  }
}
