import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { type Clock, isoTime } from '../clock.js';
import type { Config } from '../config.js';
import type { Ids } from '../ids.js';
import { decideSetRetention } from '../model/auditctx.js';
import type { Caller } from '../model/control-fold.js';
import type { Identity, Precondition } from '../model/precondition.js';
import { isFound, Waiters } from '../progress/waiters.js';
import { CLOCK, CONFIG, IDS } from '../tokens.js';
import { CommandRunner } from './command-runner.js';

export interface ContextSettings {
  readonly org: string;
  readonly name: string;
  readonly retentionDays: number | null;
  /** What the settings must be at. */
  readonly expected?: Precondition;
  /** What the caller says the settings are. */
  readonly identity?: Identity;
}

/** Answers whether reads show the change already. */
export class EditAuditContext extends Command<boolean> {
  constructor(
    readonly settings: ContextSettings,
    readonly by: Caller,
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

  async execute({ settings, by }: EditAuditContext): Promise<boolean> {
    const at = isoTime(this.clock.now());
    const ids = { context: this.ids.next(), audit: this.ids.next() };
    const { position } = await this.runner.run({
      id: this.ids.next(),
      org: settings.org,
      at,
      by,
      decide: (read) => decideSetRetention(read, { ...settings, at, ids }),
    });
    if (!position) return true;
    const indexed = await this.waiters.waitFor('control', position, this.config.syncTimeoutMs);
    return isFound(indexed);
  }
}
