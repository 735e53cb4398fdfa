import { hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { parseLink } from '../contract/links.js';
import type { Caller } from '../control/fold.js';
import { ControlState } from '../control/state.js';
import type { Authority } from '../model/authority.js';
import type { ControlEvent, Deciding, Read } from '../model/control-events.js';
import { canonicalJson } from '../model/json.js';
import type { Occasion } from '../model/resource.js';
import { serviceAccountStream, userStream } from '../model/streams.js';
import { CLOCK, type Clock, isoTime } from '../platform/clock.js';
import { CONFIG, type Config } from '../platform/config/config.js';
import { IDS, type Ids, keyedId } from '../platform/ids.js';
import { isFound, Waiters } from '../progress/waiters.js';
import { AppendsUnderWay } from './appends-under-way.js';
import { CommandRunner } from './command-runner.js';

/** Who asks for a change, and how a retry of the same request is known. */
export interface ChangeRequest {
  readonly org: string;
  readonly by: Caller;
  /** What the caller's access rests on; undefined for the root key, and if the caller presents a code instead of a key. */
  readonly authority: Authority | undefined;
  readonly idempotencyKey?: string;
  /** The method and path of a request with an Idempotency-Key, and its body: the same for a retry. */
  readonly request?: { readonly path: string; readonly body: unknown };
}

export interface Change {
  /** Identifies the command: the same for a retry with the same Idempotency-Key. */
  readonly commandId: string;
  readonly events: readonly ControlEvent[];
  /** Whether reads on every instance show the change, and no request of a caller who lost rights by it is in progress. */
  readonly searchable: boolean;
  /** Whether an earlier request made the change, and this one only repeats it. */
  readonly isRetry: boolean;
}

/** A change of one resource, with the resource as it then is. */
export interface Changed<State> {
  readonly state: State;
  readonly searchable: boolean;
}

/** Carries changes of control resources through: decided, recorded, and waited for until reads show them. */
@Injectable()
export class ControlChanges {
  constructor(
    private readonly runner: CommandRunner,
    private readonly state: ControlState,
    private readonly waiters: Waiters,
    private readonly underWay: AppendsUnderWay,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(IDS) private readonly ids: Ids,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Identifies the command of a request. */
  commandId({ org, by, idempotencyKey, request }: ChangeRequest): string {
    if (idempotencyKey === undefined) return this.ids.next();
    const idOf = (asker: string) => keyedId(request?.path ?? '', org, asker, idempotencyKey);
    // A version before this one knew who asks by the link: what it recorded is still found by a retry.
    const former = idOf(by.link ?? by.name);
    return this.state.knows(former) ? former : idOf(this.identityOf(by));
  }

  /** The principal's own id: one that is made again under the name of another is somebody else. */
  private identityOf({ link, name }: Caller): string {
    const { org = '', kind, ref = '' } = (link === undefined ? undefined : parseLink(link)) ?? {};
    const stream = kind === 'user' ? userStream(org, ref) : serviceAccountStream(org, ref);
    return this.state.read(stream)?.id ?? link ?? name;
  }

  /** Throws what `CommandRunner.run` throws. */
  async make(
    change: ChangeRequest,
    decide: (read: Read, occasion: Occasion) => ControlEvent[] | Deciding,
    commandId = this.commandId(change),
    judgeRetry?: (read: Read, occasion: Occasion, events: readonly ControlEvent[]) => void,
  ): Promise<Change> {
    const { org, by, authority, idempotencyKey, request } = change;
    const occasion = this.occasion(by.link);
    let isRetry = false;
    const { events, position } = await this.runner.run({
      id: commandId,
      ...(idempotencyKey !== undefined && { requestHash: hash('sha256', canonicalJson(request?.body ?? null)) }),
      org,
      at: occasion.at,
      by,
      authority,
      decide: (read) => decide(read, occasion),
      judgeRetry: (read, events) => {
        judgeRetry?.(read, occasion, events);
        isRetry = true;
      },
    });
    if (!position) return { commandId, events, searchable: true, isRetry };
    const { syncTimeoutMs } = this.config;
    const [indexed, settled] = await Promise.all([
      this.waiters.waitFor('control', position, syncTimeoutMs),
      // When the response is sent, no request of a caller who lost rights by this can still be recorded.
      changesRights(events) ? this.underWay.settled(org, syncTimeoutMs) : true,
    ]);
    return { commandId, events, searchable: isFound(indexed) && settled, isRetry };
  }

  private occasion(granter: string | undefined): Occasion {
    const made: string[] = [];
    return {
      at: isoTime(this.clock.now()),
      granter: granter ?? null,
      id: (n) => {
        while (made.length <= n) made.push(this.ids.next());
        return made[n] ?? '';
      },
    };
  }
}

function changesRights(events: readonly ControlEvent[]): boolean {
  return events.some(({ type }) => type === 'authz-changed');
}
