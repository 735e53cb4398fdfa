import type { Logger } from 'pino';
import { ControlError } from '../contract/errors.js';
import { type Clock, isoTime } from '../platform/clock.js';
import type { Ids } from '../platform/ids.js';

/** Work of an operator that takes longer than a request: done in the background, one at a time in a process. */
export type JobName = 'rebuild' | 'reconcile';

/** How far it is: `done` of `total` records in this phase, as far as is known. */
export type Tell = (phase: string, done: number, total: number) => void;

/** Answers its report. Ends soon when the signal aborts. */
export type Work = (tell: Tell, signal: AbortSignal) => Promise<object>;

/** What became of the last job of a name in this process. Times in ISO 8601. */
export interface JobState {
  readonly state: 'idle' | 'running' | 'done' | 'failed';
  readonly id?: string;
  readonly phase?: string;
  readonly done?: number;
  readonly total?: number;
  readonly started?: string;
  readonly finished?: string;
  readonly report?: object;
  readonly error?: string;
}

type Started = JobState & { readonly state: 'running' | 'done' | 'failed'; readonly id: string };

interface Running {
  readonly name: JobName;
  readonly ended: Promise<void>;
}

/** Runs jobs, and remembers the last of each name for as long as the process lives. */
export class Jobs {
  private readonly states = new Map<JobName, Started>();
  private readonly abort = new AbortController();
  private running: Running | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly ids: Ids,
    private readonly logger: Logger,
  ) {}

  /** Starts it; throws `conflict` while any job runs. Never rejects later: its state shows the outcome. */
  start(name: JobName, work: Work): JobState {
    if (this.running) {
      const { name: other } = this.running;
      throw new ControlError('conflict', `a ${other} is running in this process; try again when it has ended`, {
        running: other,
      });
    }
    const { signal } = this.abort;
    if (signal.aborted) throw new ControlError('not_ready', 'the process is stopping');
    const started = { id: this.ids.next(), started: isoTime(this.clock.now()) };
    this.states.set(name, { state: 'running', ...started, phase: 'starting', done: 0, total: 0 });
    this.running = { name, ended: this.run(name, started, work, signal) };
    return this.state(name);
  }

  state(name: JobName): JobState {
    return this.states.get(name) ?? { state: 'idle' };
  }

  /** Aborts what runs, and resolves when it has ended. Nothing starts any more. */
  async stop(): Promise<void> {
    this.abort.abort(new Error('the process is stopping'));
    await this.running?.ended;
  }

  private async run(
    name: JobName,
    started: { readonly id: string; readonly started: string },
    work: Work,
    signal: AbortSignal,
  ): Promise<void> {
    const tell: Tell = (phase, done, total) =>
      this.states.set(name, { state: 'running', ...started, phase, done, total });
    this.logger.info({ job: name, id: started.id }, 'a job starts');
    try {
      const report = await work(tell, signal);
      this.states.set(name, { state: 'done', ...started, finished: isoTime(this.clock.now()), report });
      this.logger.info({ job: name, id: started.id }, 'the job is done');
    } catch (err) {
      const error = (err as Error).message;
      this.states.set(name, { state: 'failed', ...started, finished: isoTime(this.clock.now()), error });
      this.logger.error({ err, job: name, id: started.id }, 'the job failed');
    } finally {
      this.running = undefined;
    }
  }
}
