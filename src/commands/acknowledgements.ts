import { Inject, Injectable } from '@nestjs/common';
import { ControlError } from '../contract/errors.js';
import type { Position } from '../event-log/event-log.js';
import { CONFIG, type Config } from '../platform/config/config.js';
import { Metrics, type PublishOutcome } from '../platform/metrics.js';
import { type Indexed, Waiters } from '../progress/waiters.js';
import { READ_MODEL } from '../read-model/read-model.js';
import { type IndexedEvents, indexedEvent } from './key-conflicts.js';

/** An event that the log has. */
export interface Appended {
  readonly id: string;
  readonly org: string;
  readonly position: Position;
  /** Of what came with its key. */
  readonly hash?: string | undefined;
}

/**
 * What became of one item; an error names the item's identifier where it may be in the log all the same. `isRepetition`: an
 * earlier publish recorded the event, as far as is known. `appended`: for a caller who waits by itself.
 */
export type Published =
  | {
      readonly id: string;
      readonly state: 'searchable' | 'recorded';
      readonly isRepetition?: true;
      readonly appended?: Appended;
    }
  | { readonly error: ControlError };

export type PublishMode = 'sync' | 'async';

/** Waits until events that were appended are searchable. */
@Injectable()
export class Acknowledgements {
  constructor(
    private readonly waiters: Waiters,
    private readonly metrics: Metrics,
    @Inject(READ_MODEL) private readonly model: IndexedEvents,
    @Inject(CONFIG) private readonly config: Pick<Config, 'syncTimeoutMs'>,
  ) {}

  /** A result an event, in order, when all are searchable or the wait ran out. Never rejects. */
  async of(events: readonly Appended[]): Promise<Published[]> {
    const durable = performance.now();
    const indexed = await this.indexed(events);
    this.metrics.waited(durable);
    return this.counted(
      'sync',
      events.map(({ id }, index) => published(id, indexed[index] ?? { code: 'timeout' })),
    );
  }

  /** The same results, counted by their outcome. */
  counted(mode: PublishMode, published: Published[]): Published[] {
    const counts = new Map<PublishOutcome, number>();
    for (const one of published) {
      const outcome = 'error' in one ? one.error.code : one.state;
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    }
    for (const [outcome, count] of counts) this.metrics.published(mode, outcome, count);
    return published;
  }

  private async indexed(events: readonly Appended[]): Promise<readonly Indexed[]> {
    const { syncTimeoutMs } = this.config;
    const positions = events.map(({ position }) => position);
    const indexed = await this.waiters.waitForAll('audit', positions, syncTimeoutMs);
    if (indexed.every(({ code }) => code !== 'unconfirmed' && code !== 'duplicate')) return indexed;
    const confirmed = (end: Indexed, one: Appended | undefined): Promise<Indexed> => {
      if (!one) throw new Error('a wait has a result an event');
      // Where the read model cannot be asked, the event is recorded: that much is true.
      const asked = end.code === 'duplicate' ? this.found(one, end) : this.endOf(one);
      return asked.catch(() => ({ code: 'timeout' }));
    };
    return Promise.all(
      indexed.map((end, at) =>
        end.code === 'unconfirmed' || end.code === 'duplicate' ? confirmed(end, events[at]) : end,
      ),
    );
  }

  /** What is said to be there already is found: the read model may have lost it since. */
  private async found({ id, org }: Appended, end: Indexed): Promise<Indexed> {
    return (await this.model.get('auditevent', org, id)) ? end : { code: 'timeout' };
  }

  /** What stands under the identifier tells which end the record had, for whoever indexed it has died since. */
  private async endOf({ id, org, hash, position: { partition, offset } }: Appended): Promise<Indexed> {
    const first = await indexedEvent(this.model, org, id);
    // It has expired already, or it is among the dead letters.
    if (!first) return { code: 'timeout' };
    const { place } = first;
    if (place.partition === partition && place.offset === offset) return { code: 'searchable' };
    return { code: first.hash === hash ? 'duplicate' : 'conflict', offset, id };
  }
}

function published(id: string, indexed: Indexed): Published {
  switch (indexed.code) {
    case 'timeout':
    case 'unconfirmed':
      return { id, state: 'recorded' };
    case 'conflict':
      return {
        error: new ControlError(
          'idempotency_conflict',
          'the Idempotency-Key was already used for another event; use a new key',
          {
            id,
          },
        ),
      };
    case 'dead_lettered':
      return {
        error: new ControlError(
          'dead_lettered',
          'the event is recorded but cannot be indexed; report the request id to the operator',
          { id },
        ),
      };
    // A repetition of what is there already has the same answer as the first.
    case 'duplicate':
      return { id, state: 'searchable', isRepetition: true };
    case 'searchable':
      return { id, state: 'searchable' };
  }
}
