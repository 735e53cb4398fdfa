import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { Caller } from '../control/fold.js';
import { decideSetRetention, type SetRetention } from '../model/auditctx.js';
import type { Authority } from '../model/authority.js';
import { CLOCK, type Clock, isoTime } from '../platform/clock.js';
import type { Config } from '../platform/config/config.js';
import { CONFIG } from '../platform/config/config.js';
import type { Ids } from '../platform/ids.js';
import { IDS } from '../platform/ids.js';
import { isFound, Waiters } from '../progress/waiters.js';
import { CommandRunner } from './command-runner.js';

/** Answers whether reads show the change already. */
export class EditAuditContext extends Command<boolean> {
  constructor(
    readonly org: string,
    readonly name: string,
    readonly edit: Pick<SetRetention, 'revise' | 'expected' | 'identity'>,
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

  async execute({ org, name, edit, by, authority }: EditAuditContext): Promise<boolean> {
    const at = isoTime(this.clock.now());
    const ids = { context: this.ids.next(), audit: this.ids.next() };
    const { position } = await this.runner.run({
      id: this.ids.next(),
      org,
      at,
      by,
      authority,
      decide: (read) => decideSetRetention(read, { org, name, ...edit, at, ids }),
    });
    if (!position) return true;
    const indexed = await this.waiters.waitFor('control', position, this.config.syncTimeoutMs);
    return isFound(indexed);
  }
}
