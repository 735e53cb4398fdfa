import { ControlError } from '../contract/errors.js';

/** A job on the whole read model, or on the trees. */
export type JobName = 'rebuild' | 'reconcile' | 'tlog-check';

/** `done` of `total` records in this phase, as far as is known. */
export interface JobProgress {
  readonly phase: string;
  readonly done: number;
  readonly total: number;
}

export interface NewJob {
  readonly id: string;
  /** The process that runs it, for operators. */
  readonly process: string;
  /** ISO 8601, as all times here. */
  readonly started: string;
}

export interface RunningJob extends NewJob, JobProgress {
  readonly state: 'running';
}

export type JobOutcome =
  | { readonly state: 'done'; readonly finished: string; readonly report: object }
  | { readonly state: 'failed'; readonly finished: string; readonly error: string };

export type Job = RunningJob | (NewJob & JobOutcome);

/** The last job of each name. */
export type JobsByName = Readonly<Partial<Record<JobName, Job>>>;

/** What became of the last job of a name. */
export type JobState = Job | { readonly state: 'idle' };

/**
 * The jobs of all processes that share a read model: one runs at a time. Every adapter passes
 * `test/contract/job-board.contract.ts`.
 */
export interface JobBoard {
  /** Throws `conflict`, which names the job that runs, if there is one. */
  claim(name: JobName, job: NewJob): Promise<Claim>;

  /** As the process that runs the job last told. A job whose process died becomes `failed`. */
  read(name: JobName): Promise<JobState>;
}

/** The right to run a job, held by one process. */
export interface Claim {
  /** Aborts, with the reason, when another process took this one for dead: the job must end, and can promote nothing. */
  readonly lost: AbortSignal;

  /** Others see it within a second. */
  tell(progress: JobProgress): void;

  /** Ends the claim. Retries until the outcome is written; rejects if it cannot be when the signal aborts. */
  finish(outcome: JobOutcome, signal: AbortSignal): Promise<void>;
}

export function begun(job: NewJob): RunningJob {
  return { state: 'running', ...job, phase: 'starting', done: 0, total: 0 };
}

export function ended({ id, process, started }: NewJob, outcome: JobOutcome): Job {
  return { id, process, started, ...outcome };
}

export function runningIn(jobs: JobsByName): { readonly name: JobName; readonly job: RunningJob } | undefined {
  for (const name of ['rebuild', 'reconcile', 'tlog-check'] as const) {
    const job = jobs[name];
    if (job?.state === 'running') return { name, job };
  }
  return undefined;
}

/** Throws `conflict` if a job runs. */
export function requireNoneRunning(jobs: JobsByName): void {
  const running = runningIn(jobs);
  if (!running) return;
  const { name, job } = running;
  const { id, process, started } = job;
  throw new ControlError(
    'conflict',
    `${name} ${id} is running in process ${process} since ${started}; GET /-${name} shows its progress, start another when it has ended`,
    { running: name, id, process, started },
  );
}
