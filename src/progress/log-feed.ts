import type { Logger } from 'pino';
import { ControlError } from '../contract/errors.js';
import { type EventLog, type Offsets, PositionOutOfRange } from '../event-log/event-log.js';
import { untilDone } from '../platform/retry.js';
import { InProcessProgressFeed, type ProgressFeed, type ProgressUpdate } from './progress-feed.js';

const VERSION = '1';

/**
 * The feed of many processes: projectors append their progress to the topic `progress`, and every process tails it from
 * its end. Updates are repeated, so earlier ones need not be read.
 */
export class LogProgressFeed implements ProgressFeed {
  private readonly local = new InProcessProgressFeed();
  private tailing = false;

  constructor(
    private readonly log: EventLog,
    private readonly logger: Logger,
  ) {}

  /** Resolves when the update is in the log; rejects as `append` does. */
  async publish(update: ProgressUpdate): Promise<void> {
    const { topic, partition } = update;
    const value = Buffer.from(JSON.stringify(update));
    await this.log.append([{ topic: 'progress', key: `${topic}/${partition}`, headers: { v: VERSION }, value }]);
  }

  subscribe(listener: (update: ProgressUpdate) => void): () => void {
    return this.local.subscribe(listener);
  }

  /** Whether every update from now on reaches the listeners. */
  get isTailing(): boolean {
    return this.tailing;
  }

  /** Resolves when the signal aborts; rejects when the log cannot be read on. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const head = await untilDone(signal, () => this.log.head('progress'), refuseOthers);
      if (!head) return;
      this.tailing = true;
      try {
        await this.tail(head, signal);
      } catch (error) {
        if (!(error instanceof PositionOutOfRange)) throw error;
        // The tail fell behind the retention of the topic. Later updates replace what it missed.
        this.logger.warn({ err: error }, 'the tail of the progress topic starts again at its end');
      }
    }
  }

  private async tail(from: Offsets, signal: AbortSignal): Promise<void> {
    for await (const { records } of this.log.read('progress', from, signal)) {
      for (const { headers, value, offset } of records) {
        if (headers.v === VERSION)
          await this.local.publish(JSON.parse(Buffer.from(value).toString()) as ProgressUpdate);
        else this.logger.warn({ offset, version: headers.v }, 'ignored a progress update of another version');
      }
    }
  }
}

/** The log may be unreachable for a while; any other error is a fault of the program. */
function refuseOthers(error: unknown): void {
  if (!(error instanceof ControlError)) throw error;
}
