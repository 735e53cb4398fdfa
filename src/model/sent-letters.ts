import type { MailLimits } from '../contract/limits.js';
import type { ControlEvent } from './control-events.js';

const HOUR_MS = 60 * 60 * 1_000;
const DAY_MS = 24 * HOUR_MS;

/** Why a letter may not be sent now, and in how many seconds it may. */
export interface TooManyLetters {
  readonly bound: keyof MailLimits;
  readonly retryAfterSeconds: number;
}

export interface Letter {
  readonly email: string;
  readonly org: string;
  readonly time: number;
}

/**
 * The letters of the last day. What is forgotten follows from the times of the letters alone, so every process that folds
 * the same records knows the same. Never part of the rule by which records are void.
 */
export class SentLetters {
  private readonly toAddress = new Map<string, number[]>();
  private readonly ofOrg = new Map<string, number[]>();
  /** In the order in which they came. */
  private readonly all = new Set<Letter>();

  /** Takes note of the invitations that the events make. */
  noteEvents(events: readonly ControlEvent[], time: number): void {
    for (const event of events) {
      if (event.type === 'invitation-created') this.note(event.data.org, event.data.email, time);
    }
  }

  note(org: string, email: string, time: number): void {
    this.forgetUntil(time - DAY_MS);
    this.all.add({ email, org, time });
    append(this.toAddress, email, time);
    append(this.ofOrg, org, time);
  }

  /** All of them, to be noted again in this order. */
  image(): readonly Letter[] {
    return [...this.all];
  }

  /** Those that count against one more letter at this time, oldest first. */
  to(email: string, now: number): readonly number[] {
    return since(this.toAddress.get(email), now - DAY_MS);
  }

  of(org: string, now: number): readonly number[] {
    return since(this.ofOrg.get(org), now - HOUR_MS);
  }

  private forgetUntil(time: number): void {
    for (const letter of this.all) {
      if (letter.time > time) return;
      this.all.delete(letter);
      shorten(this.toAddress, letter.email);
      shorten(this.ofOrg, letter.org);
    }
  }
}

function append(times: Map<string, number[]>, key: string, time: number): void {
  const known = times.get(key);
  if (known) known.push(time);
  else times.set(key, [time]);
}

function shorten(times: Map<string, number[]>, key: string): void {
  const known = times.get(key);
  known?.shift();
  if (known?.length === 0) times.delete(key);
}

function since(times: readonly number[] | undefined, time: number): readonly number[] {
  return times?.filter((one) => one > time) ?? [];
}

/** Judges one letter more after another, by all that were sent before and by those that it has let pass itself. */
export class LetterBudget {
  private readonly passed = new Map<string, number>();
  private passedOfOrg = 0;

  constructor(
    private readonly sent: readonly SentLetters[],
    private readonly limits: MailLimits,
    private readonly org: string,
    private readonly now: number,
  ) {}

  /** Counts the letter where nothing is against it. */
  take(email: string): TooManyLetters | undefined {
    const mine = this.passed.get(email) ?? 0;
    const refusal =
      this.over('perAddress', mine, (letters) => letters.to(email, this.now), DAY_MS) ??
      this.over('perOrg', this.passedOfOrg, (letters) => letters.of(this.org, this.now), HOUR_MS);
    if (refusal) return refusal;
    this.passed.set(email, mine + 1);
    this.passedOfOrg += 1;
    return undefined;
  }

  private over(
    bound: keyof MailLimits,
    passed: number,
    read: (letters: SentLetters) => readonly number[],
    window: number,
  ): TooManyLetters | undefined {
    const most = this.limits[bound];
    const times = this.sent.flatMap(read).sort((a, b) => a - b);
    if (times.length + passed < most) return undefined;
    // There is room for one more when all but `most - 1` are older than the window.
    const leaves = (times[times.length + passed - most] ?? this.now) + window;
    return { bound, retryAfterSeconds: Math.max(1, Math.ceil((leaves - this.now) / 1_000)) };
  }
}
