import {
  begun,
  type Claim,
  ended,
  type Job,
  type JobBoard,
  type JobName,
  type JobOutcome,
  type JobProgress,
  type JobState,
  type NewJob,
  requireNoneRunning,
} from '../job-board.js';

/** The jobs of a process that has its read model alone. They are forgotten with the process, which ends them too. */
export class MemoryJobBoard implements JobBoard {
  private readonly jobs: Partial<Record<JobName, Job>> = {};

  async claim(name: JobName, job: NewJob): Promise<Claim> {
    requireNoneRunning(this.jobs);
    this.jobs[name] = begun(job);
    return {
      lost: new AbortController().signal,
      tell: (progress: JobProgress) => {
        this.jobs[name] = { ...begun(job), ...progress };
      },
      finish: async (outcome: JobOutcome) => {
        this.jobs[name] = ended(job, outcome);
      },
    };
  }

  async read(name: JobName): Promise<JobState> {
    return this.jobs[name] ?? { state: 'idle' };
  }
}
