import type { Catalog } from './catalog.js';
import { type Elasticsearch, isMissing } from './client.js';
import { type Bounds, isBefore, readState } from './state.js';

/**
 * Lets reads in to a live generation that was made while the log had records already, once it has those: whoever makes
 * searchable what was still missing does it, in whatever process.
 */
export class Filling {
  private isOver = false;

  constructor(
    private readonly es: Elasticsearch,
    private readonly catalog: Catalog,
    private readonly generation: number,
  ) {}

  /** Searches see everything before these bounds. Rejects where the generation is not there. */
  async reached(bounds: Bounds): Promise<void> {
    if (this.isOver) return;
    const { isFilling } = await this.catalog.require(this.generation);
    if (isFilling && !(await this.isGoalBefore(bounds))) return;
    if (isFilling) await this.letIn();
    this.isOver = true;
  }

  private async isGoalBefore(bounds: Bounds): Promise<boolean> {
    const { value: goal } = await readState(this.es, this.catalog.names.progress(this.generation), 'goal');
    return Object.entries(goal).every(([partition, next]) => !isBefore(bounds[partition] ?? [0, 0], [next, 0]));
  }

  private async letIn(): Promise<void> {
    const { names } = this.catalog;
    try {
      await this.catalog.change([{ drop: names.filling, on: names.progress(this.generation) }]);
    } catch (error) {
      // Another process was first.
      if (!isMissing(error)) throw error;
    }
  }
}
