import type { KafkaLink } from './client.js';
import { KafkaFault } from './faults.js';
import { leaderOf } from './links.js';

const EARLIEST = -2;
const LATEST = -1;
const READ_UNCOMMITTED = 0;

export interface Bounds {
  readonly oldest: number;
  /** The next offset that a reader may get: all that is in sync, and so all that was acknowledged, is before it. */
  readonly head: number;
}

/** Of each partition, from its leader. A leader that does not know its head yet does not answer: then it throws. */
export async function boundsOf(
  link: KafkaLink,
  topic: string,
  partitions: readonly number[],
): Promise<ReadonlyMap<number, Bounds>> {
  const [oldest, heads] = await Promise.all([
    offsetsAt(link, topic, partitions, EARLIEST),
    headsOf(link, topic, partitions),
  ]);
  return new Map(
    partitions.map((partition) => [partition, { oldest: oldest.get(partition) ?? 0, head: heads.get(partition) ?? 0 }]),
  );
}

export function headsOf(
  link: KafkaLink,
  topic: string,
  partitions: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  return offsetsAt(link, topic, partitions, LATEST);
}

interface Listed {
  readonly responses: readonly {
    readonly partitions: readonly { readonly partition: number; readonly errorCode: number; readonly offset: string }[];
  }[];
}

async function offsetsAt(
  link: KafkaLink,
  topic: string,
  partitions: readonly number[],
  timestamp: number,
): Promise<ReadonlyMap<number, number>> {
  const byLeader = Map.groupBy(partitions, (partition) => leaderOf(link, topic, partition));
  const answers = await Promise.all(
    [...byLeader].map(([leader, own]) => {
      const topics = [{ topic, partitions: own.map((partition) => ({ partition, timestamp })) }];
      return link.request<Listed>(leader, 'ListOffsets', { isolationLevel: READ_UNCOMMITTED, topics });
    }),
  );
  const found = answers.flatMap(({ responses }) => responses).flatMap((response) => response.partitions);
  return new Map(
    found.map(({ partition, errorCode, offset }) => {
      if (errorCode !== 0) throw new KafkaFault(`${topic}/${partition}: error ${errorCode}`, true);
      return [partition, Number(offset)];
    }),
  );
}
