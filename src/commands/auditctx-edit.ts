import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { Caller } from '../control/fold.js';
import { settingsOf } from '../kinds/auditctx.js';
import { decideSetRetention } from '../model/auditctx.js';
import type { Authority } from '../model/authority.js';
import type { Change } from '../model/change.js';
import { CLOCK, type Clock, isoTime } from '../platform/clock.js';
import { CONFIG, type Config } from '../platform/config/config.js';
import { IDS, type Ids } from '../platform/ids.js';
import { isFound, Waiters } from '../progress/waiters.js';
import { CommandRunner } from './command-runner.js';

/** Answers whether reads show the change already. */
export class EditAuditContext extends Command<boolean> {
  constructor(
    readonly org: string,
    readonly name: string,
    readonly change: Change,
    readonly by: Caller,
    readonly authority: Authority | undefined,
  ) {
    super();
  }
}

@CommandHandler(EditAuditContext)
export class EditAuditContextHandler implements ICommandHandler<EditAuditContext> {
  constructor(
    private readonly runner: CommandRunner,
    private readonly waiters: Waiters,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(IDS) private readonly ids: Ids,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async execute({ org, name, change, by, authority }: EditAuditContext): Promise<boolean> {
    const at = isoTime(this.clock.now());
    const ids = { context: this.ids.next(), audit: this.ids.next() };
    const { position } = await this.runner.run({
      id: this.ids.next(),
      org,
      at,
      by,
      authority,
      decide: (read) => decideSetRetention(settingsOf(name), read, { org, name, change, at, ids }),
    });
    if (!position) return true;
    const indexed = await this.waiters.waitFor('control', position, this.config.syncTimeoutMs);
    return isFound(indexed);
  }
}
