import type { Clock } from './clock.js';
import type { EventLog, Offsets, Topic } from './event-log/event-log.js';
import type { Metrics } from './metrics.js';
import type { ProjectionRunner } from './projections/projection-runner.js';

const TOPICS: readonly Topic[] = ['audit', 'control', 'audit.dead'];

/** What is read off the stores and the projections when the metrics are asked for. */
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
    for (const topic of TOPICS) gauge.set({ topic }, total(await log.head(topic)));
  });
  metrics.gauge('indexed_records', 'Records that are in the read model', ['topic'], (gauge) => {
    for (const [topic, runner] of projections) gauge.set({ topic }, total(runner.indexed));
  });
  metrics.gauge('projection_lag_records', 'Records that are not in the read model yet', ['topic'], async (gauge) => {
    for (const [topic, runner] of projections) {
      gauge.set({ topic }, total(await log.head(topic)) - total(runner.indexed));
    }
  });
  metrics.gauge(
    'projection_lag_seconds',
    'Age of the last indexed record while there are newer ones',
    ['topic'],
    async (gauge) => {
      for (const [topic, runner] of projections) {
        const behind = total(await log.head(topic)) > total(runner.indexed);
        gauge.set({ topic }, behind ? Math.max(0, clock.now() - runner.lastIndexedTime) / 1000 : 0);
      }
    },
  );
}

function total(offsets: Offsets): number {
  return Object.values(offsets).reduce((sum, offset) => sum + offset, 0);
}
