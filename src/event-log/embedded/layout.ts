import type { Topic } from '../event-log.js';
import type { Layout } from './frame.js';

export type Partitions = Partial<Record<Topic, number>>;

/**
 * A new topic is added at the end: the numbers of partitions in `log.records` are given in this order. A log that was made
 * before gains it at its next start.
 */
const TOPICS: readonly Topic[] = ['audit', 'control', 'audit.dead', 'checkpoints'];

export function layoutOf(partitions: Partitions): Layout {
  for (const topic of ['control', 'checkpoints'] as const) {
    if ((partitions[topic] ?? 1) !== 1) throw new Error(`the ${topic} topic has exactly one partition`);
  }
  return TOPICS.map((topic) => [topic, partitions[topic] ?? 1]);
}

export interface Numbered {
  readonly topic: Topic;
  readonly partition: number;
  /** `topic/partition` */
  readonly name: string;
}

/** Each partition by its number. */
export function numbered(layout: Layout): readonly Numbered[] {
  return layout.flatMap(([topic, count]) =>
    Array.from({ length: count }, (_, partition) => ({
      topic: topic as Topic,
      partition,
      name: `${topic}/${partition}`,
    })),
  );
}
