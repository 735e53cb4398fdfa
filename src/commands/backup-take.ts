import { createHash } from 'node:crypto';
import { createReadStream, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ControlError } from '../contract/errors.js';
import type { Caller } from '../control/fold.js';
import { BACKUP, BACKUP_FILE, type Backup, type Snapshot } from '../event-log/event-log.js';
import { CONFIG, type Config } from '../platform/config/config.js';
import { SecurityEvents } from './security-events.js';

export interface TakenBackup extends Snapshot {
  readonly file: string;
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
  /** Removes the file. Until then there is no other backup. */
  discard(): void;
}

/**
 * Copies the log to a file of the data folder. Everything that was acknowledged before is in it. Throws `not_found`
 * where this store has no backup command; back up Kafka itself, `log_unavailable` if it cannot be recorded who took it, `conflict` while another backup is taken or the disk has no space.
 */
export class TakeBackup extends Command<TakenBackup> {
  constructor(readonly by: Caller) {
    super();
  }
}

@CommandHandler(TakeBackup)
export class TakeBackupHandler implements ICommandHandler<TakeBackup> {
  private busy = false;
  private readonly file: string;

  constructor(
    @Inject(BACKUP) private readonly log: Partial<Backup>,
    @Inject(CONFIG) { dataDir }: Config,
    private readonly security: SecurityEvents,
  ) {
    this.file = join(dataDir, BACKUP_FILE);
  }

  async execute({ by }: TakeBackup): Promise<TakenBackup> {
    const { file, log } = this;
    if (!log.snapshot) throw new ControlError('not_found', 'this store has no backup command; back up Kafka itself');
    if (this.busy) throw new ControlError('conflict', 'another backup is running; try again when it has ended');
    this.busy = true;
    try {
      const snapshot = await log.snapshot(file);
      const sha256 = await sha256Of(file);
      const bytes = statSync(file).size;
      await this.security.recordRoot(by, { action: 'backup', data: { log: snapshot.log, bytes, sha256 } });
      return { ...snapshot, file, bytes, sha256, discard: () => this.discard() };
    } catch (error) {
      this.discard();
      throw error;
    }
  }

  private discard(): void {
    this.busy = false;
    rmSync(this.file, { force: true });
  }
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
