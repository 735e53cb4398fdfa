import type { PublishItem } from '../../commands/audit-publish.js';
import { ControlError, type FieldFault } from '../../contract/errors.js';
import { LIMITS } from '../../contract/limits.js';
import type { SentAuditEvent } from '../../model/audit-event.js';
import type { Steps } from '../../platform/turns.js';
import { parseEvent } from '../json/event.js';
import { MOST_ITEM_BYTES } from '../requests/bulk-items.js';
import { eventFaults } from '../requests/event-check.js';

/** Something that was sent to become one event. */
export interface Candidate {
  /** As it was sent, whole: what is recorded if it cannot be mapped. */
  readonly raw: Buffer;
  /** How many bytes it has; those of `raw` if it is absent. */
  readonly length?: number;
  /** Whether `raw` is no text, though it may be UTF-8. */
  readonly isBinary?: boolean;
  /** What names it among all that a publisher sends to a context, if its source gives such a name. Known after `event`. */
  readonly key?: string | undefined;
  /** What candidates of the same key have in common if they are the same event; `raw` if it is absent. */
  readonly identity?: Buffer | undefined;
  /**
   * The JSON text of an event as a client publishes it, or the event that was read of it already: a key of that goes before
   * `key`. Throws `Unmappable`. It is called once, and only when its event is about to be recorded.
   */
  event(): Steps<Buffer | PublishItem>;
}

/** Why something that was sent is no event. The message is a reason for people. `key`: a name of it, if one was read. */
export class Unmappable extends Error {
  override readonly name = 'Unmappable';

  constructor(
    reason: string,
    readonly key?: string,
  ) {
    super(reason);
  }
}

/** Whether a text is too long to be an event. To parse it would hold the event loop: only its key is read. */
export function isLong({ length }: Buffer): boolean {
  return length > MOST_ITEM_BYTES;
}

/** Of a text that `isLong`. */
export function tooLong({ length }: Buffer, key: string | undefined): Unmappable {
  return new Unmappable(`the line has ${length} bytes; an event may have at most ${LIMITS.bodyBytes}`, key);
}

/** The event in a JSON text. Throws `Unmappable` with its first fault. */
export function readEvent(json: Buffer, now: number): PublishItem {
  if (json.length > LIMITS.bodyBytes) {
    throw new Unmappable(`has ${json.length} bytes as an event; an event may have at most ${LIMITS.bodyBytes}`);
  }
  return asMappable(() => {
    const { value, exact, verbatim } = parseEvent(json);
    const [fault] = eventFaults(value, exact, now);
    if (fault) throw new Unmappable(reasonOf(fault));
    return { event: value as SentAuditEvent, verbatim };
  });
}

/** Throws `Unmappable` in place of a refusal. */
export function asMappable<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    const [fault] = (error.details.fields ?? []) as readonly FieldFault[];
    throw new Unmappable(fault ? reasonOf(fault) : error.message.replace(/^the body/, 'the line'));
  }
}

function reasonOf({ pointer, reason }: FieldFault): string {
  return `${pointer || 'the event'} ${reason}`;
}
