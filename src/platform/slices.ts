import { turnOfTheLoop } from './waiting.js';

const SLICE_MS = 2;

/** Background work that nobody waits for: it holds the event loop for 2 ms, then lets everything else have its turn. */
export class Slices {
  private end = performance.now() + SLICE_MS;

  /** Whether `pause` would wait: asked first where steps are so short that a promise for each costs more. */
  get isOver(): boolean {
    return performance.now() >= this.end;
  }

  /** Between two steps of the work. */
  async pause(): Promise<void> {
    if (!this.isOver) return;
    await turnOfTheLoop();
    this.end = performance.now() + SLICE_MS;
  }
}
