import type { Logger } from 'pino';
import { type Clock, isoTime } from '../../platform/clock.js';
import { type Elasticsearch, ElasticsearchFault, isFault, isMissing } from '../../platform/elasticsearch.js';
import { pause } from '../../platform/waiting.js';
import {
  begun,
  ended,
  type JobBoard,
  type JobName,
  type JobState,
  type JobsByName,
  type NewJob,
  requireNoneRunning,
  runningIn,
} from '../job-board.js';
import type { Version } from './bulk.js';
import type { Catalog } from './catalog.js';
import { ElasticsearchClaim, type Pace, type SharedJobs, type StoredJobs } from './job-claim.js';
import { jobsIndex } from './mapping.js';
import type { Names } from './names.js';
import { steadyRead } from './reader.js';
import { createState, readState, writeState } from './state.js';

interface JobBoardOptions {
  readonly es: Elasticsearch;
  readonly names: Names;
  readonly replicas: number;
  /** The generations of the read model, once it is open. */
  generations(): Pick<Catalog, 'entries' | 'discard' | 'delete'> | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pace?: Pace;
}

const PACE: Pace = { beat: 1_000, lapse: 15_000 };

const MOST_ATTEMPTS = 50;

/**
 * The jobs of all processes of a cluster: one document, written by compare-and-swap, in an index of its own. The process
 * that runs a job writes the document each second, and again if it was lost: no job fails because the board did. Other
 * processes take a job for dead when they have seen no change of the document for `lapse`. Each measures that by the
 * monotonic clock alone, and only while it can read the document.
 */
export class ElasticsearchJobBoard implements JobBoard, SharedJobs {
  readonly pace: Pace;
  private seen = { version: '', at: 0, quietMs: 0 };

  constructor(private readonly options: JobBoardOptions) {
    this.pace = options.pace ?? PACE;
  }

  async claim(name: JobName, job: NewJob): Promise<ElasticsearchClaim> {
    const running = begun(job);
    await steadyRead(async () => {
      for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
        const { jobs, version } = await this.patientlyStored();
        requireNoneRunning(jobs);
        if (await this.write({ ...jobs, [name]: running }, version)) return;
      }
      throw new ElasticsearchFault('other processes kept changing the state of the jobs', 409, 'jobs_contended');
    });
    return new ElasticsearchClaim(this, name, running, this.options.logger);
  }

  async read(name: JobName): Promise<JobState> {
    const { jobs } = await steadyRead(() => this.patientlyStored());
    return jobs[name] ?? { state: 'idle' };
  }

  /** Looks for jobs whose process died, until the signal aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    let isMade = false;
    while (!signal.aborted) {
      try {
        // Made before a job needs it: one that is missing later was lost.
        if (!isMade) isMade = (await this.stored()).version !== undefined || (await this.write({}, undefined));
        await this.look();
      } catch (error) {
        // What could not be read may have changed.
        this.seen = { version: '', at: 0, quietMs: 0 };
        if (!isFault(error)) this.options.logger.error({ err: error }, 'the jobs could not be watched; trying again');
      }
      await pause(this.pace.beat, signal, { ref: false });
    }
  }

  async stored(): Promise<StoredJobs> {
    const { es, names } = this.options;
    try {
      const { value, version } = await readState(es, names.jobs, 'jobs');
      return { jobs: value, version };
    } catch (error) {
      if (!isMissing(error)) throw error;
      return { jobs: {}, version: undefined };
    }
  }

  /** If the document was lost, a process that runs a job is given the time to write it again. */
  private async patientlyStored(): Promise<StoredJobs> {
    const { beat, lapse } = this.pace;
    const until = performance.now() + lapse / 3;
    for (;;) {
      const stored = await this.stored();
      if (stored.version || performance.now() >= until) return stored;
      await pause(beat);
    }
  }

  async write(jobs: JobsByName, over: Version | undefined): Promise<boolean> {
    const { es, names } = this.options;
    const alias = names.writer(names.jobs);
    try {
      if (!over) return await createState(es, alias, 'jobs', jobs);
      return (await writeState(es, alias, 'jobs', jobs, over)) !== undefined;
    } catch (error) {
      if (!isMissing(error)) throw error;
      await this.makeIndex(alias);
      return false;
    }
  }

  private async makeIndex(alias: string): Promise<void> {
    const { es, names, replicas } = this.options;
    await es.request('PUT', `/${names.jobs}`, { body: jobsIndex({ replicas }) }).catch((error) => {
      if (!isFault(error) || error.type !== 'resource_already_exists_exception') throw error;
    });
    await es.request('PUT', `/${names.jobs}/_alias/${alias}`);
  }

  private async look(): Promise<void> {
    const stored = await this.stored();
    const version = stored.version ? `${stored.version.primaryTerm}/${stored.version.seqNo}` : '';
    const now = performance.now();
    if (!runningIn(stored.jobs) || version !== this.seen.version) {
      this.seen = { version, at: now, quietMs: 0 };
      return;
    }
    // A process that stood still itself has not seen that nothing changed meanwhile.
    const quietMs = this.seen.quietMs + Math.min(now - this.seen.at, 2 * this.pace.beat);
    this.seen = { version, at: now, quietMs };
    if (quietMs >= this.pace.lapse) await this.bury(version);
  }

  /**
   * Removes what the dead job left, and then says that it failed. A process that only stood still finds its generation
   * gone, and can promote nothing. The generations are listed before the document is read again: if that is still as it
   * was, no other job had begun when they were listed.
   */
  private async bury(dead: string): Promise<void> {
    const { clock, logger } = this.options;
    const generations = this.options.generations();
    const left = (await generations?.entries())?.filter(({ isLive }) => !isLive) ?? [];
    const { jobs, version } = await this.stored();
    const running = runningIn(jobs);
    if (!version || !running || `${version.primaryTerm}/${version.seqNo}` !== dead) return;
    const { name, job } = running;
    for (const { generation, isBuilding } of name === 'rebuild' ? left : []) {
      // It may have died after the promotion, before it removed the generation before.
      await (isBuilding ? generations?.discard(generation) : generations?.delete(generation));
    }
    const error = `the process ${job.process} that ran it gave no sign of life for ${this.pace.lapse / 1_000} s; start it again`;
    const failed = ended(job, { state: 'failed', finished: isoTime(clock.now()), error });
    if (!(await this.write({ ...jobs, [name]: failed }, version))) return;
    logger.error({ job: name, id: job.id, process: job.process }, 'a job failed: its process gave no sign of life');
  }
}
