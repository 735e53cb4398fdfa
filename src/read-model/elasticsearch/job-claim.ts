import type { Logger } from 'pino';
import { untilDone } from '../../platform/retry.js';
import { pause } from '../../platform/waiting.js';
import {
  type Claim,
  ended,
  type Job,
  type JobName,
  type JobOutcome,
  type JobProgress,
  type JobsByName,
  type RunningJob,
  runningIn,
} from '../job-board.js';
import type { Version } from './bulk.js';

/** In milliseconds. */
export interface Pace {
  /** The period in which a process that runs a job says so, and the others look. */
  readonly beat: number;
  /** A job is dead when it has said nothing for so long. */
  readonly lapse: number;
}

export interface StoredJobs {
  readonly jobs: JobsByName;
  /** Undefined if the document does not exist. */
  readonly version: Version | undefined;
}

/** The document of the jobs. */
export interface SharedJobs {
  readonly pace: Pace;
  stored(): Promise<StoredJobs>;
  /** Returns false if another write came first, or if the index had to be made first. */
  write(jobs: JobsByName, over: Version | undefined): Promise<boolean>;
}

/** Says on the board, each second, that the job lives. */
export class ElasticsearchClaim implements Claim {
  private readonly losing = new AbortController();
  readonly lost = this.losing.signal;
  private readonly finishing = new AbortController();
  private readonly beating: Promise<void>;

  constructor(
    private readonly board: SharedJobs,
    private readonly name: JobName,
    private job: RunningJob,
    private readonly logger: Logger,
  ) {
    this.beating = this.beat(this.finishing.signal);
  }

  tell(progress: JobProgress): void {
    this.job = { ...this.job, ...progress };
  }

  async finish(outcome: JobOutcome, signal: AbortSignal): Promise<void> {
    this.finishing.abort();
    await this.beating;
    const { beat } = this.board.pace;
    const job = ended(this.job, outcome);
    const failed = (err: unknown) => {
      if (signal.aborted) throw err;
      this.logger.warn({ err, job: this.name, id: this.job.id }, 'the end of the job could not be written; retrying');
    };
    await untilDone(undefined, () => this.write(() => job), failed, { first: beat, most: beat });
  }

  private async beat(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.lost.aborted) {
      try {
        await this.write(() => this.job);
      } catch (err) {
        // The job goes on: it may be what mends Elasticsearch.
        this.logger.warn({ err, job: this.name, id: this.job.id }, 'the progress of the job could not be written');
      }
      await pause(this.board.pace.beat, signal);
    }
  }

  /** Writes it in place of what the board has of this job, which is nothing if the board was lost. */
  private async write(job: () => Job): Promise<void> {
    for (;;) {
      const stored = await this.board.stored();
      if (this.isLost(stored)) return;
      if (await this.board.write({ ...stored.jobs, [this.name]: job() }, stored.version)) return;
      await pause(this.board.pace.beat / 10);
    }
  }

  private isLost({ jobs }: StoredJobs): boolean {
    const { id } = this.job;
    const running = runningIn(jobs);
    const own = jobs[this.name];
    if (running && running.job.id !== id) {
      this.losing.abort(
        new Error(`${running.name} ${running.job.id} took its place in process ${running.job.process}`),
      );
    } else if (own?.id === id && own.state === 'failed') this.losing.abort(new Error(own.error));
    return this.lost.aborted;
  }
}
