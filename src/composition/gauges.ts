import type { Gauge } from 'prom-client';
import type { EventLog, Offsets, Topic } from '../event-log/event-log.js';
import type { Clock } from '../platform/clock.js';
import type { Metrics } from '../platform/metrics.js';
import type { ProjectionRunner } from '../projections/projection-runner.js';

const TOPICS: readonly Topic[] = ['audit', 'control', 'audit.dead'];

/** Gauges whose values are read from the stores and the projections at each scrape. */
export function addGauges(
  metrics: Metrics,
  log: EventLog,
  projections: ReadonlyMap<Topic, ProjectionRunner>,
  clock: Clock,
): void {
  metrics.gauge('append_queue_entries', 'Entries that wait to be made durable', [], (gauge) => {
    gauge.set(log.pending.entries);
  });
  metrics.gauge('append_queue_bytes', 'Bytes that wait to be made durable', [], (gauge) => {
    gauge.set(log.pending.bytes);
  });
  metrics.gauge('log_records', 'Records in the log', ['topic'], async (gauge) => {
    for (const topic of TOPICS) await setOrOmit(gauge, topic, async () => total(await log.head(topic)));
  });
  metrics.gauge('indexed_records', 'Records that are in the read model', ['topic'], (gauge) => {
    for (const [topic, runner] of projections) gauge.set({ topic }, total(runner.indexed));
  });
  const lag = async (topic: Topic, { indexed }: ProjectionRunner) => {
    const head = await log.head(topic);
    const ends = Object.keys(indexed).map((partition) => [partition, head[Number(partition)] ?? 0]);
    return total(Object.fromEntries(ends)) - total(indexed);
  };
  metrics.gauge(
    'projection_lag_records',
    'Records of the partitions of this process that are not in the read model yet',
    ['topic'],
    async (gauge) => {
      for (const [topic, runner] of projections) await setOrOmit(gauge, topic, () => lag(topic, runner));
    },
  );
  metrics.gauge(
    'projection_lag_seconds',
    'Age of the last indexed record while there are newer ones',
    ['topic'],
    async (gauge) => {
      for (const [topic, runner] of projections) {
        const age = Math.max(0, clock.now() - runner.lastIndexedTime) / 1000;
        await setOrOmit(gauge, topic, async () => ((await lag(topic, runner)) > 0 ? age : 0));
      }
    },
  );
}

/** A gauge that cannot be read at the moment has no value, and does not fail the others. */
async function setOrOmit(gauge: Gauge, topic: Topic, read: () => Promise<number>): Promise<void> {
  try {
    gauge.set({ topic }, await read());
  } catch {
    gauge.remove({ topic });
  }
}

function total(offsets: Offsets): number {
  return Object.values(offsets).reduce((sum, offset) => sum + offset, 0);
}
