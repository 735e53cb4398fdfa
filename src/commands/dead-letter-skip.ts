import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ControlError, validationFailed } from '../contract/errors.js';
import type { Caller } from '../control/fold.js';
import { controlRecordOf } from '../control/record.js';
import { deadLetter } from '../event-log/dead-letter.js';
import { EVENT_LOG, type EventLog, type LogRecord, UnreadableRecord } from '../event-log/event-log.js';
import { recordAt } from '../event-log/read-range.js';
import { SecurityEvents } from './security-events.js';

/** How long reading the record may take. */
const READ_MS = 5_000;

/** A record that the service does not read any more, and why it could not. */
export interface Skipped {
  readonly place: string;
  readonly reason: string;
}

/**
 * Has a record of `control` that cannot be read skipped, by every process and every replay: it becomes a dead letter. Done
 * twice, it changes nothing more. Throws `validation_failed` if there is no such record, and `conflict` if it can be read.
 */
export class SkipRecord extends Command<Skipped> {
  constructor(
    readonly offset: number,
    readonly by: Caller,
  ) {
    super();
  }
}

@CommandHandler(SkipRecord)
export class SkipRecordHandler implements ICommandHandler<SkipRecord> {
  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    private readonly security: SecurityEvents,
  ) {}

  async execute({ offset, by }: SkipRecord): Promise<Skipped> {
    const place = `control/0/${offset}`;
    const { 0: end = 0 } = await this.log.head('control');
    if (offset >= end) throw validationFailed([{ pointer: '/place', reason: 'is not the place of a record' }]);
    const record = await recordAt(this.log, 'control', { partition: 0, offset }, AbortSignal.timeout(READ_MS));
    const reason = whyUnreadable(record);
    if (reason === undefined)
      throw new ControlError('conflict', `${place} can be read, so it is not skipped`, { place });
    await this.security.recordRoot(by, { action: 'skip-record', data: { place, reason } });
    await this.log.append([deadLetter({ record, reason })]);
    return { place, reason };
  }
}

function whyUnreadable(record: LogRecord): string | undefined {
  try {
    controlRecordOf(record);
    return undefined;
  } catch (error) {
    if (error instanceof UnreadableRecord) return error.message;
    throw error;
  }
}
