import { ControlError } from '../contract/errors.js';
import type { ControlState } from '../control/state.js';
import type { Topic } from '../event-log/event-log.js';
import type { Readiness } from '../http/readiness.js';
import { PLACEMENT } from '../model/placement.js';
import type { Config } from '../platform/config/config.js';
import { coalesced, within } from '../platform/waiting.js';
import type { ProjectionRunner } from '../projections/projection-runner.js';
import { KIND_NAMES, kindOf } from '../read-model/kinds.js';
import type { ReadModel } from '../read-model/read-model.js';
import type { Store } from './store.js';

/** The time limit of a probe: what is lost shows within a second. */
const PROBE_MS = 750;

export class ProcessReadiness implements Readiness {
  private draining = false;
  private stopped = false;
  private served = false;
  private readonly probed = coalesced(() => this.lost());

  constructor(
    private readonly store: Pick<Store, 'missing' | 'log' | 'model'>,
    private readonly state: ControlState,
    private readonly projections: ReadonlyMap<Topic, ProjectionRunner>,
    private readonly roles: Config['roles'],
    private readonly isShared: boolean,
    readonly warnings: () => string[],
  ) {}

  get isStopping(): boolean {
    return this.draining;
  }

  drain(): void {
    this.draining = true;
  }

  stop(): void {
    this.drain();
    this.stopped = true;
  }

  /** Why the process is not ready; empty if it is. */
  missing(): string[] {
    const missing = [...(this.draining ? ['the process is stopping'] : []), ...this.store.missing()];
    const stopped = this.state.skipped?.stoppedBecause;
    if (stopped !== undefined) missing.push(stopped);
    else if (!this.state.caughtUp) missing.push('the control state is being read from the log');
    else if (this.isShared && !this.state.read(PLACEMENT))
      missing.push('the log does not say yet where identifiers count');
    for (const [topic, runner] of this.projections) {
      const { caughtUp, stalled } = runner.status;
      if (!caughtUp) missing.push(`the projection of ${topic} is catching up with the log`);
      if (stalled !== undefined) missing.push(`the projection of ${topic} cannot write to the read model`);
    }
    return missing;
  }

  /**
   * As `missing`, and also why the log or the read model does not respond. Runs reads that begin after the call, so that a
   * process which reports itself ready does not refuse the next read with 503.
   */
  async check(): Promise<string[]> {
    const missing = this.missing();
    if (missing.length > 0) return missing;
    const lost = await this.probed();
    return lost.length === 0 ? this.missing() : lost;
  }

  private async lost(): Promise<string[]> {
    const { log, model } = this.store;
    const reading = this.roles.has('api') ? probe(model) : model.progress('control');
    const lost = await Promise.all([whyLost('the log', log.head('control')), whyLost('the read model', reading)]);
    return lost.filter((reason) => reason !== undefined);
  }

  /**
   * Why requests are refused, or undefined. A process serves once its reads show everything that was acknowledged before its
   * start; if the read model fails later, it still records events.
   */
  closedBecause(): string | undefined {
    if (this.stopped) return 'the process is stopping';
    this.served ||= this.missing().length === 0;
    return this.served ? undefined : this.missing()[0];
  }
}

async function whyLost(name: string, work: Promise<unknown>): Promise<string | undefined> {
  try {
    const answered = work.then(() => undefined);
    return await within(PROBE_MS, answered, `${name} did not answer within ${PROBE_MS} ms`);
  } catch (error) {
    return error instanceof ControlError ? error.message : `${name} cannot be used: ${(error as Error).message}`;
  }
}

/** No organization has this name. */
const NOBODY = '-';

/** Runs one read of each sort. Resolves if all succeed; rejects with `read_model_unavailable` as a caller's reads do. */
async function probe(model: Pick<ReadModel, 'get' | 'search' | 'last' | 'count'>): Promise<void> {
  const query = { org: NOBODY, filters: [], limit: 1 };
  await Promise.all(
    KIND_NAMES.map(async (kind) => {
      const { sort, received, countBy } = kindOf(kind);
      await model.search(kind, { ...query, order: { field: sort, direction: 'descending' } });
      await model.get(kind, NOBODY, NOBODY);
      if (received) await model.last(kind, query);
      if (countBy !== undefined) await model.count(kind, NOBODY);
    }),
  );
}
