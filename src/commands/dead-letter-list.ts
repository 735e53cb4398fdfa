import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ControlError } from '../contract/errors.js';
import type { Caller } from '../control/fold.js';
import { EVENT_LOG, type EventLog, type Position } from '../event-log/event-log.js';
import { byPosition, bytesOf, type Letter, lettersTouched, readLetters } from './dead-letter-box.js';
import { SecurityEvents } from './security-events.js';

export interface DeadLetterQuery {
  readonly limit: number;
  readonly cursor?: string;
  /** Only those that were not replayed. */
  readonly open: boolean;
  /** With the bytes of the records. */
  readonly raw: boolean;
}

export interface ListedLetter extends Letter {
  readonly value?: Uint8Array;
}

export interface DeadLetterPage {
  readonly items: readonly ListedLetter[];
  /** Where to go on, while there is more. */
  readonly cursor?: string;
}

/**
 * A page of the dead letters, in the order in which they came. What they say is in the log alone, so this belongs to the
 * side that sees the log, though it changes nothing. Throws `invalid_cursor`.
 */
export class ListDeadLetters extends Command<DeadLetterPage> {
  constructor(
    readonly query: DeadLetterQuery,
    readonly by: Caller,
  ) {
    super();
  }
}

/** A page with bytes ends after so many, however many letters were asked for. */
const PAGE_BYTES = 4 * 1024 * 1024;

@CommandHandler(ListDeadLetters)
export class ListDeadLettersHandler implements ICommandHandler<ListDeadLetters> {
  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    private readonly security: SecurityEvents,
  ) {}

  async execute({ query, by }: ListDeadLetters): Promise<DeadLetterPage> {
    const { cursor, limit, open, raw } = query;
    const after = cursor === undefined ? undefined : decodeCursor(cursor);
    const letters = await readLetters(this.log);
    const wanted = letters.filter(
      (letter) => !(open && letter.replayed) && (!after || byPosition({ at: after }, letter) < 0),
    );
    const items = raw ? await this.withBytes(wanted.slice(0, limit), by) : wanted.slice(0, limit);
    const last = items.at(-1);
    return { items, ...(last && items.length < wanted.length && { cursor: encodeCursor(last.at) }) };
  }

  private async withBytes(letters: readonly Letter[], by: Caller): Promise<ListedLetter[]> {
    let bytes = 0;
    const end = letters.findIndex((letter, index) => {
      bytes += letter.bytes;
      return index > 0 && bytes > PAGE_BYTES;
    });
    const page = end < 0 ? letters : letters.slice(0, end);
    const values = await bytesOf(this.log, page);
    await this.security.recordRoot(by, lettersTouched(this.security, 'read-dead-letters', page, values));
    return page.map((letter) => ({ ...letter, value: values.get(letter) ?? new Uint8Array() }));
  }
}

function encodeCursor({ partition, offset }: Position): string {
  return Buffer.from(JSON.stringify([partition, offset])).toString('base64url');
}

function decodeCursor(text: string): Position {
  try {
    const [partition, offset] = JSON.parse(Buffer.from(text, 'base64url').toString()) as [unknown, unknown];
    if (isWhole(partition) && isWhole(offset)) return { partition, offset };
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
  }
  throw new ControlError('invalid_cursor', 'the cursor belongs to another list; start again without it');
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
