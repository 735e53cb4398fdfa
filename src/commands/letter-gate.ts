import { ControlError } from '../contract/errors.js';
import { type MailLimits } from '../contract/limits.js';
import type { ControlState } from '../control/state.js';
import type { Read } from '../model/control-events.js';
import { LetterBudget, SentLetters, type TooManyLetters } from '../model/sent-letters.js';
import { userStream } from '../model/streams.js';
import type { Clock } from '../platform/clock.js';

/** Refuses letters beyond the limits. Those of new invitations are counted from the log, the same by all processes. */
export class LetterGate {
  /** Letters that this process sent again for retries; they are not recorded. */
  private readonly resent = new SentLetters();

  constructor(
    private readonly state: ControlState,
    private readonly clock: Clock,
    private readonly limits: MailLimits,
  ) {}

  /** The addresses that may get no letter now, and why. A member gets none anyway. */
  refusals(read: Read, org: string, emails: Iterable<string>): ReadonlyMap<string, ControlError> {
    const budget = this.budget(org);
    const refused = new Map<string, ControlError>();
    for (const email of emails) {
      const tooMany = read(userStream(org, email)) ? undefined : budget.take(email);
      if (tooMany) refused.set(email, rateLimited(email, tooMany));
    }
    return refused;
  }

  /** Counts a letter that is sent again; throws `rate_limited` where it may not be. */
  resend(org: string, email: string): void {
    const tooMany = this.budget(org).take(email);
    if (tooMany) throw rateLimited(email, tooMany);
    this.resent.note(org, email, this.clock.now());
  }

  private budget(org: string): LetterBudget {
    return new LetterBudget([this.state.fold.letters, this.resent], this.limits, org, this.clock.now());
  }
}

function rateLimited(email: string, { bound, retryAfterSeconds }: TooManyLetters): ControlError {
  const who = bound === 'perAddress' ? `${email} was sent` : 'the organization has sent';
  return new ControlError(
    'rate_limited',
    `${who} as many letters as it may be; invite again in ${retryAfterSeconds} s`,
    {
      retryAfterSeconds,
    },
  );
}
