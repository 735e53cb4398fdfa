import { PositionOutOfRange } from '../event-log.js';
import { type KafkaConnection, KafkaLink } from './client.js';
import { KafkaFault } from './faults.js';
import type { KafkaTopic } from './topics.js';

/** Connects anew; given up when the signal aborts. */
export type Connect = (signal: AbortSignal) => Promise<KafkaLink>;

/**
 * Connects, and makes sure that the topics are the ones this process knows: a topic that was deleted and made again is
 * another log, and its positions mean other records. Throws `PositionOutOfRange` then, `KafkaFault` when it cannot tell.
 */
export async function linkTo(
  connection: KafkaConnection,
  topics: readonly KafkaTopic[],
  signal: AbortSignal,
): Promise<KafkaLink> {
  const names = topics.map(({ name }) => name);
  const link = await KafkaLink.open(connection, names, signal);
  try {
    for (const { name, id } of topics) {
      const metadata = link.metadata.topics.get(name);
      if (metadata?.errorCode !== 0) throw new KafkaFault(`${name}: error ${metadata?.errorCode}`, false);
      if (metadata.id !== id)
        throw new PositionOutOfRange(`${name} was deleted and made again since this process started`);
    }
    return link;
  } catch (error) {
    link.close();
    throw error;
  }
}

/** Throws `KafkaFault` while the partition has no leader. */
export function leaderOf(link: KafkaLink, topic: string, partition: number): number {
  const leader = link.metadata.topics.get(topic)?.partitions[partition]?.leader ?? -1;
  if (leader < 0) throw new KafkaFault(`${topic}/${partition} has no leader`, false);
  return leader;
}

interface Opening {
  readonly link: Promise<KafkaLink>;
  readonly stop: AbortController;
  opened?: KafkaLink;
}

/** One link that is used as long as it is sound, then another. */
export class SharedLink {
  private current: Opening | undefined;
  private ended = false;

  constructor(private readonly connect: Connect) {}

  /** Rejects when it cannot connect, or is dropped before it has. */
  get(): Promise<KafkaLink> {
    if (this.ended) return Promise.reject(new KafkaFault('the log is closed', false));
    if (this.current) return this.current.link;
    const stop = new AbortController();
    const opening: Opening = { link: this.connect(stop.signal), stop };
    this.current = opening;
    opening.link.then(
      (link) => {
        opening.opened = link;
      },
      () => {
        if (this.current === opening) this.current = undefined;
      },
    );
    return opening.link;
  }

  /**
   * After a fault, or when the cluster has changed: what waits for an answer is rejected, the next `get` connects anew.
   * Whoever names the link that failed leaves another alone that was opened since.
   */
  drop(failed?: KafkaLink): void {
    failed?.close();
    const { current } = this;
    if (!current || (failed && failed !== current.opened)) return;
    this.current = undefined;
    current.stop.abort();
    current.link.then((link) => link.close()).catch(() => undefined);
  }

  close(): void {
    this.ended = true;
    this.drop();
  }
}
