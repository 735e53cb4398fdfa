import { ControlError } from '../contract/errors.js';
import { nameOf } from '../contract/links.js';
import type { Principal, Reach } from '../model/access.js';
import { type Authority, INVALID_KEY, type Judgement, judge, type Refused } from '../model/authority.js';
import type { Read } from '../model/control-events.js';
import { authzStream, keyStream } from '../model/streams.js';
import type { Clock } from '../platform/clock.js';
import { versionOf } from './fold.js';
import type { ControlState } from './state.js';

/** An authority that held, and the versions of the streams that this rested on. */
export interface Standing {
  readonly authority: Authority;
  readonly principal: Principal;
  /** On which resources the first permission held. */
  readonly reach: Reach;
  readonly key: number;
  readonly authz: number;
  /** When the key expires, in milliseconds since 1970-01-01T00:00:00Z. */
  readonly expires: number;
}

/** Judges the same request at several moments: when it begins, when its body is there, before each page of its answer. */
export class AuthorityCheck {
  constructor(
    private readonly state: ControlState,
    private readonly clock: Clock,
  ) {}

  /** At the state that `read` shows, which must be the present one. */
  judge(authority: Authority, read: Read = this.state.read): Judgement {
    return judge(authority, read, () => this.state.rules(authority.org), this.clock.now());
  }

  /** For an authority that was just judged to hold for this principal. */
  standing(authority: Authority, principal: Principal, reach: Reach): Standing {
    const { expires } = this.state.read(keyStream(authority.keyHash)) ?? {};
    return {
      authority,
      principal,
      reach,
      ...this.versions(authority),
      expires: expires === undefined ? Number.POSITIVE_INFINITY : Date.parse(expires),
    };
  }

  /** Whether it holds for certain, and nothing that it rests on has changed. Costs two look-ups in a map. */
  isUnchanged({ authority, key, authz, expires }: Standing): boolean {
    const now = this.versions(authority);
    return key === now.key && authz === now.authz && this.clock.now() < expires && this.state.isFresh;
  }

  /**
   * Undefined if the authority holds at this moment, so that the caller can go on without giving way to any other work.
   * Else a promise that settles when the log has confirmed the state: it rejects with `unauthenticated`, `forbidden` or
   * `state_unconfirmed`. After it, ask again.
   */
  waitsFor(standing: Standing): Promise<void> | undefined {
    const { authority } = standing;
    const holds = this.isUnchanged(standing) || (this.state.isFresh && !this.judge(authority).refused);
    return holds ? undefined : this.confirmed(authority);
  }

  /** Resolves if the authority holds and still reaches everything that it did, with its present standing. Rejects as `waitsFor`. */
  async requireWhole(standing: Standing): Promise<Standing> {
    if (this.isUnchanged(standing)) return standing;
    const now = this.whole(standing);
    if (this.state.isFresh && !(now instanceof ControlError)) return now;
    await this.state.confirm();
    const confirmed = this.whole(standing);
    if (confirmed instanceof ControlError) throw confirmed;
    return confirmed;
  }

  private whole({ authority, reach: earlier }: Standing): Standing | ControlError {
    const { principal, refused, reach } = this.judge(authority);
    if (refused || !principal) return refusalOf(refused ?? INVALID_KEY);
    if (covers(reach, earlier)) return this.standing(authority, principal, earlier);
    const message = `${nameOf(principal.link)} can read less than when the request began; start it again`;
    return refusalOf({ code: 'forbidden', message });
  }

  /** Resolves if the authority holds on everything that the log has by now. Rejects as `waitsFor`. */
  async confirmed(authority: Authority): Promise<void> {
    await this.state.confirm();
    const { refused } = this.judge(authority);
    if (refused) throw refusalOf(refused);
  }

  private versions({ org, keyHash }: Authority): Pick<Standing, 'key' | 'authz'> {
    const { fold } = this.state;
    return { key: versionOf(fold, keyStream(keyHash)), authz: versionOf(fold, authzStream(org)) };
  }
}

function covers(reach: Reach, earlier: Reach): boolean {
  if (reach === 'all') return true;
  return earlier !== 'all' && [...earlier].every((link) => reach.has(link));
}

export function refusalOf({ code, message }: Refused): ControlError {
  return new ControlError(code, message);
}
