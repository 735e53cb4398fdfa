import { getHeapStatistics } from 'node:v8';
import { readLetters } from '../commands/dead-letter-box.js';
import type { JobName, JobState, Jobs } from '../commands/upkeep-jobs.js';
import type { EventLog, Offsets, Topic } from '../event-log/event-log.js';
import type { Readiness } from '../http/readiness.js';
import type { Clock } from '../platform/clock.js';
import { LogClock } from '../platform/log-clock.js';
import { type Metrics, SCRAPE_MS, setOrOmit } from '../platform/metrics.js';
import { coalesced, within } from '../platform/waiting.js';
import type { ProgressFeed } from '../progress/progress-feed.js';
import type { ProjectionRunner } from '../projections/projection-runner.js';

const TOPICS: readonly Topic[] = ['audit', 'control', 'audit.dead'];
const JOBS: readonly JobName[] = ['rebuild', 'reconcile', 'tlog-check'];
const STATES: readonly JobState['state'][] = ['idle', 'running', 'done', 'failed'];

/** Dead letters are counted again when the topic has grown, in at most one part of so many of the time. */
const COUNTING_SHARE = 10;

interface Parts {
  readonly log: EventLog;
  readonly feed: ProgressFeed;
  readonly clock: Clock;
  readonly readiness: Readiness;
  readonly jobs: Jobs;
}

/** Gauges whose values are read from the stores and the projections at each scrape. */
export function addGauges(metrics: Metrics, projections: ReadonlyMap<Topic, ProjectionRunner>, parts: Parts): void {
  const { log, clock, readiness } = parts;
  metrics.gauge('append_queue_entries', 'Entries that wait to be made durable', [], (gauge) => {
    gauge.set(log.pending.entries);
  });
  metrics.gauge('append_queue_bytes', 'Bytes that wait to be made durable', [], (gauge) => {
    gauge.set(log.pending.bytes);
  });
  metrics.gauge('heap_limit_bytes', 'What the JavaScript heap may grow to: beyond it the process dies', [], (gauge) => {
    gauge.set(getHeapStatistics().heap_size_limit);
  });
  metrics.gauge('ready', '1 if the process is ready, as GET /health/ready says; else 0', [], async (gauge) => {
    gauge.set((await within(SCRAPE_MS, readiness.check(), ['late'])).length === 0 ? 1 : 0);
  });
  const headOf = headsOf(log);
  metrics.gauge('log_records', 'Records in the log', ['topic'], async (gauge) => {
    await Promise.all(TOPICS.map((topic) => setOrOmit(gauge, { topic }, async () => total(await headOf(topic)))));
  });
  metrics.gauge('indexed_records', 'Records that are in the read model', ['topic'], (gauge) => {
    for (const [topic, runner] of projections) gauge.set({ topic }, total(runner.indexed));
  });
  addLags(metrics, projections, headOf, parts.feed, clock);
  addUpkeep(metrics, headOf, parts);
}

/** The gauges of one scrape share what they ask the log. */
function headsOf(log: EventLog): (topic: Topic) => Promise<Offsets> {
  const heads = new Map(TOPICS.map((topic) => [topic, coalesced(() => log.head(topic))]));
  return (topic) => heads.get(topic)?.() ?? log.head(topic);
}

function addLags(
  metrics: Metrics,
  projections: ReadonlyMap<Topic, ProjectionRunner>,
  headOf: (topic: Topic) => Promise<Offsets>,
  feed: ProgressFeed,
  clock: Clock,
): void {
  /** What the projectors of all processes announced last, by topic and partition. */
  const announced = new Map<Topic, Map<number, { readonly generation: number; readonly indexed: number }>>();
  feed.subscribe(({ topic, partition, generation, indexed }) => {
    const partitions = announced.get(topic) ?? new Map();
    announced.set(topic, partitions);
    if (generation >= (partitions.get(partition)?.generation ?? 0)) partitions.set(partition, { generation, indexed });
  });
  metrics.gauge(
    'partition_lag_records',
    'Records of a partition that no projector of any process has announced as indexed; every process shows all partitions',
    ['topic', 'partition'],
    async (gauge) => {
      const lags = [...announced].flatMap(([topic, partitions]) =>
        [...partitions].map(([partition, { indexed }]) => {
          const read = async () => Math.max(0, ((await headOf(topic))[partition] ?? 0) - indexed);
          return setOrOmit(gauge, { topic, partition }, read);
        }),
      );
      await Promise.all(lags);
    },
  );
  metrics.gauge('partition_indexed_offset', 'Where a partition is indexed next', ['topic', 'partition'], (gauge) => {
    for (const [topic, partitions] of announced) {
      for (const [partition, { indexed }] of partitions) gauge.set({ topic, partition }, indexed);
    }
  });
  const lag = async (topic: Topic, { indexed }: ProjectionRunner) => {
    const head = await headOf(topic);
    const ends = Object.keys(indexed).map((partition) => [partition, head[Number(partition)] ?? 0]);
    return total(Object.fromEntries(ends)) - total(indexed);
  };
  metrics.gauge(
    'projection_lag_records',
    'Records of the partitions of this process that are not in the read model yet',
    ['topic'],
    async (gauge) => {
      await Promise.all(
        [...projections].map(([topic, runner]) => setOrOmit(gauge, { topic }, () => lag(topic, runner))),
      );
    },
  );
  if (clock instanceof LogClock) {
    metrics.gauge('clock_ahead_seconds', "By how much this system's clock is ahead of the log's", [], (gauge) => {
      gauge.set(clock.systemAheadMs / 1000);
    });
  }
  metrics.gauge(
    'projection_lag_seconds',
    'Age of the last indexed record while there are newer ones',
    ['topic'],
    async (gauge) => {
      const ages = [...projections].map(([topic, runner]) => {
        const age = Math.max(0, clock.now() - runner.lastIndexedTime) / 1000;
        return setOrOmit(gauge, { topic }, async () => ((await lag(topic, runner)) > 0 ? age : 0));
      });
      await Promise.all(ages);
    },
  );
}

function addUpkeep(metrics: Metrics, headOf: (topic: Topic) => Promise<Offsets>, { log, jobs }: Parts): void {
  const open = openLetters(log, headOf);
  metrics.gauge('dead_letters_open', 'Dead letters that were not replayed', [], (gauge) => setOrOmit(gauge, {}, open));
  const read = coalesced(async () => Promise.all(JOBS.map(async (name) => [name, await jobs.state(name)] as const)));
  const states = () => within(SCRAPE_MS, read(), []).catch(() => []);
  metrics.gauge('job_state', '1 for the state of the last job of this name', ['name', 'state'], async (gauge) => {
    gauge.reset();
    for (const [name, job] of await states()) {
      for (const state of STATES) gauge.set({ name, state }, Number(job.state === state));
    }
  });
  metrics.gauge('job_records', 'Records of the phase of a job that runs', ['name', 'which'], async (gauge) => {
    gauge.reset();
    for (const [name, job] of await states()) {
      if (job.state !== 'running') continue;
      gauge.set({ name, which: 'done' }, job.done);
      gauge.set({ name, which: 'total' }, job.total);
    }
  });
}

function openLetters(log: EventLog, headOf: (topic: Topic) => Promise<Offsets>): () => Promise<number> {
  const counted = { until: 0, open: 0, due: 0 };
  return coalesced(async () => {
    const until = total(await headOf('audit.dead'));
    const start = performance.now();
    if (until !== counted.until && start >= counted.due) {
      counted.open = (await readLetters(log)).filter(({ replayed }) => !replayed).length;
      counted.until = until;
      counted.due = performance.now() + COUNTING_SHARE * (performance.now() - start);
    }
    return counted.open;
  });
}

function total(offsets: Offsets): number {
  return Object.values(offsets).reduce((sum, offset) => sum + offset, 0);
}
