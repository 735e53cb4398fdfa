import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ControlError, type FieldFault, validationFailed } from '../contract/errors.js';
import type { Caller } from '../control/fold.js';
import { ControlState } from '../control/state.js';
import { placeName, replayNote } from '../event-log/dead-letter.js';
import { EVENT_LOG, type EventLog, type LogEntry, type Topic } from '../event-log/event-log.js';
import { PLACEMENT } from '../model/placement.js';
import { bytesOf, type Letter, lettersTouched, readLetters } from './dead-letter-box.js';
import { SecurityEvents } from './security-events.js';

export interface Replay {
  /** Those of these places, by default all that were not replayed. */
  readonly places?: readonly string[];
  /** Also those that were replayed before. */
  readonly force?: boolean;
}

export interface Replayed {
  /** Of the letter. */
  readonly place: string;
  /** The position of the appended copy. */
  readonly now: string;
}

/**
 * Appends the records of dead letters to their topic once more, with their own key, headers and bytes, and notes that. The
 * projection takes them up by the rules of today; what it still cannot read becomes a letter of its new place. Done
 * twice, it changes nothing more: identifiers remove duplicates. Throws `validation_failed` for places that are no
 * letters, and `conflict` for letters that were replayed unless it is forced; then nothing is appended.
 */
export class ReplayDeadLetters extends Command<Replayed[]> {
  constructor(
    readonly replay: Replay,
    readonly by: Caller,
  ) {
    super();
  }
}

/** So many bytes and records are held and appended at once. */
const AT_ONCE = { bytes: 4 * 1024 * 1024, letters: 100 };

/** The only topic whose records are put aside. In any other, a record appended once more could mean something else. */
const REPLAYABLE: Topic = 'audit';

function isReplayable({ topic, isOmitted }: Letter): boolean {
  return topic === REPLAYABLE && !isOmitted;
}

@CommandHandler(ReplayDeadLetters)
export class ReplayDeadLettersHandler implements ICommandHandler<ReplayDeadLetters> {
  private busy = false;

  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    private readonly security: SecurityEvents,
    private readonly state: ControlState,
  ) {}

  async execute({ replay, by }: ReplayDeadLetters): Promise<Replayed[]> {
    if (this.busy)
      throw new ControlError('conflict', 'another replay of dead letters is running; try again when it has ended');
    this.busy = true;
    try {
      const chosen = chosenOf(await readLetters(this.log), replay);
      const replayed: Replayed[] = [];
      for (const some of portions(chosen)) replayed.push(...(await this.append(some, by)));
      return replayed;
    } finally {
      this.busy = false;
    }
  }

  /** The notes come after: a note without its record would hide a letter that is open. */
  private async append(letters: readonly Letter[], by: Caller): Promise<Replayed[]> {
    const values = await bytesOf(this.log, letters);
    const among = this.state.read(PLACEMENT)?.partitions;
    const entries = letters.map((letter): LogEntry => {
      const { place, topic, key, headers } = letter;
      const value = values.get(letter);
      if (!value) throw new Error(`the dead letter of ${place} is not where it was`);
      return { topic, key, headers, value, ...(headers.hash !== undefined && { among }) };
    });
    await this.security.recordRoot(by, lettersTouched(this.security, 'replay-dead-letters', letters, values));
    const positions = await this.log.append(entries);
    await this.log.append(letters.map(({ place }) => replayNote(place)));
    return letters.flatMap(({ place, topic }, index) => {
      const position = positions[index];
      return position ? [{ place, now: placeName({ topic, ...position }) }] : [];
    });
  }
}

function chosenOf(letters: readonly Letter[], { places, force = false }: Replay): Letter[] {
  if (places === undefined) return letters.filter((letter) => !letter.replayed && isReplayable(letter));
  const byPlace = new Map(letters.map((letter) => [letter.place, letter]));
  const faults: FieldFault[] = [];
  const chosen = new Map<string, Letter>();
  for (const [index, place] of places.entries()) {
    const letter = byPlace.get(place);
    const pointer = `/places/${index}`;
    if (letter && isReplayable(letter)) chosen.set(place, letter);
    else if (letter?.isOmitted)
      faults.push({ pointer, reason: 'is the place of a record that is too large for a letter' });
    else faults.push({ pointer, reason: `is not the place of a dead letter of ${REPLAYABLE}` });
  }
  if (faults.length > 0) throw validationFailed(faults);
  const again = [...chosen.values()].filter(({ replayed }) => replayed).map(({ place }) => place);
  if (again.length > 0 && !force) {
    const details = { replayed: again };
    const message = `${again.length} of them were replayed before, as details.replayed lists; \`force\` replays once more`;
    throw new ControlError('conflict', message, details);
  }
  return [...chosen.values()];
}

function* portions(letters: readonly Letter[]): Generator<Letter[]> {
  let portion: Letter[] = [];
  let bytes = 0;
  for (const letter of letters) {
    if (portion.length >= AT_ONCE.letters || (portion.length > 0 && bytes + letter.bytes > AT_ONCE.bytes)) {
      yield portion;
      portion = [];
      bytes = 0;
    }
    portion.push(letter);
    bytes += letter.bytes;
  }
  if (portion.length > 0) yield portion;
}
