import type { Logger } from 'pino';
import { untilDone } from '../../platform/retry.js';
import { pause } from '../../platform/waiting.js';
import { parseCheckpoint } from '../../tlog/checkpoint.js';
import type { Anchor, AnchoredCheckpoint } from './anchor.js';

/** How often it looks whether there is a newer checkpoint. */
const LOOK_MS = 1_000;

/** An anchor that is away is asked again, ever more seldom. */
const PATIENCE = { first: 1_000, most: 10 * 60_000 };

/** Gives every anchor the newest published checkpoint of the service log, again and again. */
export class Anchoring {
  /** When each anchor was given a checkpoint last, in milliseconds. */
  readonly #kept = new Map<Anchor, number>();

  constructor(
    private readonly anchors: readonly Anchor[],
    private readonly newest: () => Promise<string | undefined>,
    private readonly intervalMs: number,
    private readonly logger: Logger,
  ) {}

  /** Of every anchor: when it kept a checkpoint last; undefined before the first. */
  get states(): readonly { readonly name: string; readonly keptAt: number | undefined }[] {
    return this.anchors.map((anchor) => ({ name: anchor.name, keptAt: this.#kept.get(anchor) }));
  }

  /** Until the signal aborts. An anchor that fails is tried for ever, with what is newest then; it does not hold up others. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.anchors.map((anchor) => this.#keepUp(anchor, signal)));
  }

  async #keepUp(anchor: Anchor, signal: AbortSignal): Promise<void> {
    let last: AnchoredCheckpoint | undefined;
    while (!signal.aborted) {
      const put = async () => {
        const checkpoint = await this.#newest();
        if (!checkpoint || (checkpoint.origin === last?.origin && checkpoint.size <= last.size)) return undefined;
        await anchor.put(checkpoint);
        return checkpoint;
      };
      const failed = (error: unknown, waitMs: number) =>
        this.logger.warn(
          { anchor: anchor.name, fault: (error as Error).message, waitMs },
          'a checkpoint is not anchored',
        );
      const kept = await untilDone(signal, put, failed, PATIENCE);
      if (kept) {
        last = kept;
        this.#kept.set(anchor, Date.now());
      }
      await pause(kept ? this.intervalMs : Math.min(LOOK_MS, this.intervalMs), signal);
    }
  }

  async #newest(): Promise<AnchoredCheckpoint | undefined> {
    const note = await this.newest();
    if (note === undefined) return undefined;
    const { origin, size } = parseCheckpoint(note.slice(0, note.lastIndexOf('\n\n') + 1));
    return { note, origin, size };
  }
}
