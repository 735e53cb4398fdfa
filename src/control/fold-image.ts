import type { States, StreamName } from '../model/control-events.js';
import type { Letter } from '../model/sent-letters.js';
import type { TableImage } from './digest-table.js';
import { type ControlFold, putStream } from './fold.js';
import type { CommandsImage } from './known-commands.js';

/** All that a fold holds, at one moment: what is folded later does not change it. */
export interface FoldImage {
  readonly streams: readonly (readonly [stream: StreamName, version: number, state: States[keyof States]])[];
  readonly deleted: TableImage;
  readonly commands: CommandsImage;
  readonly letters: readonly Letter[];
}

export function imageOf(fold: ControlFold): FoldImage {
  return {
    streams: Array.from(fold.streams, ([stream, { version, state }]) => [stream, version, state] as const),
    deleted: fold.deleted.image(),
    commands: fold.commands.image(),
    letters: fold.letters.image(),
  };
}

/** Makes an empty fold the one of the image. Families list their streams in the order of these, as they did there. */
export function restoreFold(fold: ControlFold, { streams, deleted, commands, letters }: FoldImage): void {
  for (const [stream, version, state] of streams) putStream(fold, stream, version, undefined, state);
  fold.deleted.restore(deleted);
  fold.commands.restore(commands);
  for (const { org, email, time } of letters) fold.letters.note(org, email, time);
}

/** Has the state of a fold of `control`, to start from. */
export interface FoldSnapshots {
  /**
   * Makes the empty fold the one of the first so many records of `control`, at most `most`, and resolves with their number:
   * 0 when it has none of so few that can be trusted. Never rejects.
   */
  load(fold: ControlFold, most?: number): Promise<number>;
}
