import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ControlError } from '../contract/errors.js';
import type { Caller } from '../control/fold.js';
import { ControlState } from '../control/state.js';
import type { Precondition } from '../model/change.js';
import type { ControlEvent, InvitationState, UserState } from '../model/control-events.js';
import {
  decideAcceptInvitation,
  decideInviteUsers,
  decideRevokeInvitation,
  invitationLink,
} from '../model/invitation.js';
import { refuseRemovedKey } from '../model/key.js';
import { invitationStream } from '../model/streams.js';
import { userLink } from '../model/user.js';
import { CLOCK, type Clock } from '../platform/clock.js';
import { CONFIG, type Config } from '../platform/config/config.js';
import { IDS, type Ids, keyedId } from '../platform/ids.js';
import { type ChangeRequest, ControlChanges } from './control-changes.js';
import { Guesses } from './guesses.js';
import { KeySecrets, keyHash } from './key-secrets.js';
import { LetterGate } from './letter-gate.js';

/** What an invited address is sent. */
export interface Letter {
  readonly org: string;
  /** Of the invitation. */
  readonly id: string;
  readonly email: string;
  readonly group?: string;
  readonly expires: string;
  /** Known to nobody but whom the letter reaches. */
  readonly code: string;
}

/** Brings letters to their addresses. */
export interface Mailer {
  /** Resolves when another has taken the letter over. Sent again, it is the same letter. Throws `mail_failed`. */
  send(letter: Letter): Promise<void>;
}

/** Under this token Nest injects the `Mailer`. */
export const MAILER = Symbol('Mailer');

export interface Invited {
  /** By address: the link of the invitation whose code was sent, or why there is none, or why it was not sent. */
  readonly outcomes: ReadonlyMap<string, string | ControlError>;
  /** Whether reads show the invitations already. */
  readonly searchable: boolean;
}

export class InviteUsers extends Command<Invited> {
  constructor(
    readonly request: ChangeRequest,
    /** In lower case, each once. */
    readonly emails: readonly string[],
    readonly group?: string,
  ) {
    super();
  }
}

/**
 * Records the invitations, all in one record, and then sends their codes. A retry with the same Idempotency-Key sends the
 * same codes again, for the invitations that are still open.
 */
@CommandHandler(InviteUsers)
export class InviteUsersHandler implements ICommandHandler<InviteUsers> {
  private readonly gate: LetterGate;

  constructor(
    private readonly changes: ControlChanges,
    private readonly state: ControlState,
    private readonly secrets: KeySecrets,
    @Inject(MAILER) private readonly mailer: Mailer,
    @Inject(CLOCK) clock: Clock,
    @Inject(CONFIG) { mail }: Config,
  ) {
    this.gate = new LetterGate(state, clock, mail);
  }

  async execute({ request, emails, group }: InviteUsers): Promise<Invited> {
    const { org } = request;
    const commandId = this.changes.commandId(request);
    // Undefined until it is decided here: a retry of a command that is recorded is not.
    let refused: ReadonlyMap<string, ControlError> | undefined;
    const codes = new Map(emails.map((email) => [email, this.code(request, commandId, email)]));
    const invited = [...codes].map(([email, code]) => ({ email, codeHash: keyHash(code) }));
    const { events, searchable } = await this.changes.make(
      request,
      (read, occasion) => {
        refused = this.gate.refusals(read, org, codes.keys());
        const allowed = invited.filter(({ email }) => !refused?.has(email));
        return decideInviteUsers(read, { ...occasion, org, invited: allowed, ...(group !== undefined && { group }) });
      },
      commandId,
    );
    const isRetry = refused === undefined;
    const outcomes = [...codes].map(async ([email, code]) => {
      return [email, refused?.get(email) ?? (await this.outcome(events, email, code, isRetry))] as const;
    });
    return { outcomes: new Map(await Promise.all(outcomes)), searchable };
  }

  private code({ idempotencyKey }: ChangeRequest, commandId: string, email: string): string {
    return idempotencyKey === undefined ? this.secrets.randomCode() : this.secrets.derivedCode(commandId, email);
  }

  private async outcome(
    events: readonly ControlEvent[],
    email: string,
    code: string,
    isRetry: boolean,
  ): Promise<string | ControlError> {
    const invitation = invitationOf(events, email);
    if (!invitation) {
      const isMember = 'a user with this address is a member already';
      // Of a retry: the address may as well have been refused a letter at first.
      return new ControlError('conflict', isRetry ? `${isMember}, or was not invited at first` : isMember);
    }
    const { org, id, group, expires, codeHash } = invitation;
    if (codeHash !== keyHash(code)) {
      return codeIsGone(invitationLink(org, id));
    }
    // Of a retry: it may have been accepted, revoked or replaced since.
    const isOpen = this.state.read(invitationStream(org, id)) !== undefined;
    try {
      if (isOpen && isRetry) this.gate.resend(org, email);
      if (isOpen) await this.mailer.send({ org, id, email, expires, code, ...(group !== undefined && { group }) });
      return invitationLink(org, id);
    } catch (error) {
      if (error instanceof ControlError) return error;
      throw error;
    }
  }
}

/** Of a retry. */
function codeIsGone(invitation: string): ControlError {
  const message =
    'the invitation is recorded, but its code cannot be sent again, because the service secret was changed since; ' +
    'invite the address again, without this Idempotency-Key';
  return new ControlError('conflict', message, { invitation });
}

function invitationOf(events: readonly ControlEvent[], email: string): InvitationState | undefined {
  return events
    .flatMap((event) => (event.type === 'invitation-created' ? [event.data] : []))
    .find((invitation) => invitation.email === email);
}

export interface Accepted {
  readonly user: UserState;
  /** The user's first key, to be shown this once. */
  readonly key: string;
  /** Whether reads show the user already. */
  readonly searchable: boolean;
}

export class AcceptInvitation extends Command<Accepted> {
  constructor(
    readonly acceptance: {
      readonly org: string;
      /** Id of the invitation. */
      readonly invitation: string;
      readonly code: string;
      /** The full name. */
      readonly name: string;
    },
    readonly from: Pick<Caller, 'requestId' | 'remoteIp'>,
    readonly idempotencyKey?: string,
  ) {
    super();
  }
}

/**
 * The holder of the code becomes the user with the invited address. Without it nothing can be learned, not even whether the
 * organization exists, and nobody is kept waiting: what has no chance does not queue with the organization's changes.
 */
@CommandHandler(AcceptInvitation)
export class AcceptInvitationHandler implements ICommandHandler<AcceptInvitation> {
  constructor(
    private readonly changes: ControlChanges,
    private readonly state: ControlState,
    private readonly secrets: KeySecrets,
    private readonly guesses: Guesses,
    @Inject(IDS) private readonly ids: Ids,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async execute({ acceptance, from, idempotencyKey }: AcceptInvitation): Promise<Accepted> {
    const { org, invitation, code, name } = acceptance;
    const codeHash = keyHash(code);
    const path = `accept invitation ${invitation}`;
    // By the code too: the first answer holds a key, and is given again to nobody else.
    const id = idempotencyKey === undefined ? this.ids.next() : keyedId(path, org, codeHash, idempotencyKey);
    const key = this.secrets.keyOf(id, idempotencyKey);
    const { keyMaxDays: mostDays } = this.config;
    const accepted = {
      org,
      invitation,
      codeHash,
      name,
      keyHash: keyHash(key),
      ...(mostDays !== undefined && { mostDays }),
    };
    const by = { name, keyId: invitation, ...from, ...(await this.accepting(acceptance, from.remoteIp, codeHash, id)) };
    const change = await this.changes.make(
      {
        org,
        by,
        authority: undefined,
        ...(idempotencyKey !== undefined && { idempotencyKey, request: { path, body: { code, name } } }),
      },
      (read, occasion) => decideAcceptInvitation(read, { ...occasion, ...accepted }),
      id,
      (read, _occasion, events) => refuseRemovedKey(read, events),
    );
    await this.secrets.issuedKey(change, by, key);
    const { events, searchable } = change;
    const [user] = events.flatMap((event) => (event.type === 'user-created' ? [event.data] : []));
    if (!user) throw new Error('the command made no user');
    return { user, key, searchable };
  }

  /** Who accepts; nothing for a retry of what was accepted. Throws `not_found`, and `rate_limited` for many guesses. */
  private async accepting(
    { org, invitation }: AcceptInvitation['acceptance'],
    address: string,
    codeHash: string,
    commandId: string,
  ): Promise<Pick<Caller, 'email' | 'link'>> {
    const known = () => {
      if (this.state.knows(commandId)) return {};
      const found = this.state.read(invitationStream(org, invitation));
      return found?.codeHash === codeHash ? { email: found.email, link: userLink(org, found.email) } : undefined;
    };
    const at = known();
    if (at) return at;
    const guess = this.guesses.begin({ guessed: 'code', address, invitation: `${org}/${invitation}` });
    await this.state.confirm();
    const later = known();
    if (later) {
      guess.right();
      return later;
    }
    guess.wrong();
    throw new ControlError('not_found', 'no such invitation exists');
  }
}

export class RevokeInvitation extends Command<void> {
  constructor(
    readonly request: ChangeRequest,
    /** Id of the invitation. */
    readonly invitation: string,
    readonly expected?: Precondition,
  ) {
    super();
  }
}

@CommandHandler(RevokeInvitation)
export class RevokeInvitationHandler implements ICommandHandler<RevokeInvitation> {
  constructor(private readonly changes: ControlChanges) {}

  async execute({ request, invitation, expected }: RevokeInvitation): Promise<void> {
    const { org } = request;
    await this.changes.make(request, (read, occasion) =>
      decideRevokeInvitation(read, { ...occasion, org, invitation, ...(expected !== undefined && { expected }) }),
    );
  }
}
