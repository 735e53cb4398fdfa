import type { Logger } from 'pino';
import { SERVICE_CONTEXT } from '../contract/kinds.js';
import type { ControlRecord } from '../control/fold.js';
import { controlEntry } from '../control/record.js';
import type { ControlState } from '../control/state.js';
import type { EventLog } from '../event-log/event-log.js';
import { keyUsed } from '../model/key.js';
import { keyStream } from '../model/streams.js';
import { type Clock, isoTime } from '../platform/clock.js';
import { keyedId } from '../platform/ids.js';
import { within } from '../platform/waiting.js';

/** How long uses are gathered for one record. */
const GATHER_MS = 1_000;

/** Keys in one record, each of some 150 bytes. */
const MOST_KEYS = 1_000;

/** How long the end of the process waits for the last record. */
const LAST_RECORD_MS = 1_000;

/**
 * Records on which day each key was last used: one event a key and day, many keys in one record. Nobody waits for it, and
 * nothing fails because of it: what the log does not take is recorded at a later use of the key. Several processes may
 * record the same use; the state is the same.
 */
export class KeyUses {
  /** Days by the hash of the key: to be recorded, or on their way to the log. */
  private readonly gathered = new Map<string, string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly log: EventLog,
    private readonly state: ControlState,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  /** The key with this hash was presented, and is valid. */
  note(keyHash: string): void {
    if (this.gathered.has(keyHash)) return;
    const key = this.state.read(keyStream(keyHash));
    const day = dayOf(this.clock.now());
    if (!key || (key.lastUsed !== undefined && key.lastUsed >= day)) return;
    this.gathered.set(keyHash, day);
    this.schedule();
  }

  /** Records what is gathered, as far as the log takes it soon. */
  async close(): Promise<void> {
    clearTimeout(this.timer);
    await within(LAST_RECORD_MS, this.record(), undefined);
    clearTimeout(this.timer);
  }

  private schedule(): void {
    this.timer ??= setTimeout(() => void this.record(), GATHER_MS).unref();
  }

  private async record(): Promise<void> {
    const uses = [...this.gathered].slice(0, MOST_KEYS).sort();
    try {
      if (uses.length > 0) await this.log.append([controlEntry(this.recordOf(uses))]);
    } catch (error) {
      this.logger.debug({ err: error, keys: uses.length }, 'the last use of keys could not be recorded');
    }
    for (const [keyHash] of uses) this.gathered.delete(keyHash);
    this.timer = undefined;
    if (this.gathered.size > 0) this.schedule();
  }

  private recordOf(uses: readonly (readonly [keyHash: string, day: string])[]): ControlRecord {
    const commandId = keyedId('key-used', ...uses.flat());
    return {
      commandId,
      at: isoTime(this.clock.now()),
      by: { name: SERVICE_CONTEXT, requestId: commandId, remoteIp: '' },
      expected: {},
      events: uses.map(([keyHash, day]) => keyUsed(keyHash, day)),
    };
  }
}

let known = { number: -1, text: '' };

/** The day in UTC, as an ISO 8601 date. The last one is kept: it is asked for with every request. */
function dayOf(now: number): string {
  const number = Math.floor(now / DAY_MS);
  if (number !== known.number) known = { number, text: isoTime(now).slice(0, 10) };
  return known.text;
}

const DAY_MS = 24 * 60 * 60 * 1000;
