import { ControlError } from '../contract/errors.js';
import { nameOf } from '../contract/links.js';
import type { Principal, Reach } from '../model/access.js';
import { type Authority, INVALID_KEY, type Judgement, judge, type Refused } from '../model/authority.js';
import type { Read, StreamName } from '../model/control-events.js';
import { authzStream, keyStream } from '../model/streams.js';
import type { Clock } from '../platform/clock.js';
import { versionOf } from './fold.js';
import type { ControlState } from './state.js';

/** An authority that held, with the versions of the streams that this depended on. */
export interface Standing {
  readonly authority: Authority;
  readonly principal: Principal;
  /** The resources for which the first permission held. */
  readonly reach: Reach;
  /** The streams that it depends on, at the versions that were judged. */
  readonly key: Version;
  readonly authz: Version;
  /** When the key expires, in milliseconds since 1970-01-01T00:00:00Z. */
  readonly expires: number;
}

interface Version {
  /** Kept, because a text that is made anew costs more to look up than all the rest of a check. */
  readonly stream: StreamName;
  readonly version: number;
}

/** Checks a request's authority several times: when it begins, when its body is read, before each page of its response. */
export class AuthorityCheck {
  constructor(
    private readonly state: ControlState,
    private readonly clock: Clock,
  ) {}

  /** By the state of `read`, which must be the present one. */
  judge(authority: Authority, read: Read = this.state.read): Judgement {
    return judge(authority, read, () => this.state.rules(authority.org), this.clock.now());
  }

  /** For an authority that was just found to hold for this principal. */
  standing(authority: Authority, principal: Principal, reach: Reach): Standing {
    const stream = keyStream(authority.keyHash);
    const { expires } = this.state.read(stream) ?? {};
    return {
      authority,
      principal,
      reach,
      key: this.present(stream),
      authz: this.present(authzStream(authority.org)),
      expires: expires === undefined ? Number.POSITIVE_INFINITY : Date.parse(expires),
    };
  }

  /** Whether it certainly holds, because nothing that it depends on has changed. Costs two map lookups. */
  isUnchanged({ key, authz, expires }: Standing): boolean {
    return this.isPresent(key) && this.isPresent(authz) && this.clock.now() < expires && this.state.isFresh;
  }

  /**
   * Undefined if the authority holds at this moment, so that the caller can continue without yielding. Otherwise a promise
   * that settles when the log has confirmed the state: it rejects with `unauthenticated`, `forbidden` or `state_unconfirmed`.
   * After it, call again.
   */
  waitsFor(standing: Standing): Promise<void> | undefined {
    const { authority } = standing;
    const holds = this.isUnchanged(standing) || (this.state.isFresh && !this.judge(authority).refused);
    return holds ? undefined : this.confirmed(authority);
  }

  /** Resolves with the present standing if the authority still holds for the same resources. Rejects as `waitsFor`. */
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

  /** Resolves if the authority holds by everything that the log has now. Rejects as `waitsFor`. */
  async confirmed(authority: Authority): Promise<void> {
    await this.state.confirm();
    const { refused } = this.judge(authority);
    if (refused) throw refusalOf(refused);
  }

  private present(stream: StreamName): Version {
    return { stream, version: versionOf(this.state.fold, stream) };
  }

  private isPresent({ stream, version }: Version): boolean {
    return versionOf(this.state.fold, stream) === version;
  }
}

function covers(reach: Reach, earlier: Reach): boolean {
  if (reach === 'all') return true;
  return earlier !== 'all' && [...earlier].every((link) => reach.has(link));
}

export function refusalOf({ code, message }: Refused): ControlError {
  return new ControlError(code, message);
}
