import { hash } from 'node:crypto';
import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { type Clock, isoTime } from '../clock.js';
import type { Config } from '../config.js';
import { ControlError } from '../errors.js';
import { type Ids, keyedId } from '../ids.js';
import { canonicalJson } from '../model/canonical-json.js';
import type { ControlEvent } from '../model/control-events.js';
import type { Caller } from '../model/control-fold.js';
import { keyStream } from '../model/key.js';
import { ADMIN, decideCreateOrg, type OrgState } from '../model/org.js';
import { serviceAccountLink } from '../model/service-account.js';
import { isFound, Waiters } from '../progress/waiters.js';
import { CLOCK, CONFIG, IDS } from '../tokens.js';
import { CommandRunner } from './command-runner.js';
import { KeySecrets, keyHash } from './key-secrets.js';

export interface CreatedOrg {
  readonly org: OrgState;
  readonly serviceAccount: string;
  /** The admin's first key, to be shown this once. */
  readonly key: string;
  /** Whether reads show the organization already. */
  readonly searchable: boolean;
}

export class CreateOrg extends Command<CreatedOrg> {
  constructor(
    readonly org: { readonly name: string; readonly description?: string; readonly tags?: Record<string, string> },
    readonly by: Caller,
    readonly idempotencyKey?: string,
  ) {
    super();
  }
}

@CommandHandler(CreateOrg)
export class CreateOrgHandler implements ICommandHandler<CreateOrg> {
  constructor(
    private readonly runner: CommandRunner,
    private readonly secrets: KeySecrets,
    private readonly waiters: Waiters,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(IDS) private readonly ids: Ids,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async execute({ org, by, idempotencyKey }: CreateOrg): Promise<CreatedOrg> {
    const { name, description = name, tags = {} } = org;
    const id = idempotencyKey === undefined ? this.ids.next() : keyedId('POST /org', by.name, idempotencyKey);
    const key = idempotencyKey === undefined ? this.secrets.random() : this.secrets.derived(id);
    const at = isoTime(this.clock.now());
    const ids = this.newIds();
    const { events, position } = await this.runner.run({
      id,
      ...(idempotencyKey !== undefined && { requestHash: hash('sha256', canonicalJson(org)) }),
      org: name,
      at,
      by,
      decide: (read) => decideCreateOrg(read, { name, description, tags, at, keyHash: keyHash(key), ids }),
    });
    if (!position) throw new Error('an organization is never made without a record');
    const indexed = await this.waiters.waitFor('control', position, this.config.syncTimeoutMs);
    const serviceAccount = serviceAccountLink(name, ADMIN);
    return { org: createdOrg(events, key), serviceAccount, key, searchable: isFound(indexed) };
  }

  private newIds() {
    const next = () => this.ids.next();
    return {
      org: next(),
      serviceAccount: next(),
      key: next(),
      orgAudit: next(),
      serviceAccountAudit: next(),
      keyAudit: next(),
    };
  }
}

/** The organization as the first run of the command made it, provided that its key is the one to be shown. */
function createdOrg(events: readonly ControlEvent[], key: string): OrgState {
  const created = events.find((event) => event.type === 'org-created');
  const sameKey = events.some((event) => event.stream === keyStream(keyHash(key)));
  if (!created) throw new Error('the command made no organization');
  if (sameKey) return created.data;
  throw new ControlError('conflict', 'the key cannot be shown again, because the root key was changed since');
}
