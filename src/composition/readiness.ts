import { ControlError } from '../contract/errors.js';
import type { ControlState } from '../control/state.js';
import type { Topic } from '../event-log/event-log.js';
import type { Readiness } from '../http/readiness.js';
import type { Config } from '../platform/config/config.js';
import { coalesced, within } from '../platform/waiting.js';
import type { ProjectionRunner } from '../projections/projection-runner.js';
import { KIND_NAMES, kindOf } from '../read-model/kinds.js';
import type { ReadModel } from '../read-model/read-model.js';
import type { Store } from './store.js';

/** The time limit of a probe: the caller of a readiness check does not wait longer either. */
const PROBE_MS = 2_000;

export class ProcessReadiness implements Readiness {
  private stopping = false;
  private served = false;
  private readonly probed = coalesced(() => this.unreadable());

  constructor(
    private readonly store: Pick<Store, 'missing' | 'model'>,
    private readonly state: ControlState,
    private readonly projections: ReadonlyMap<Topic, ProjectionRunner>,
    private readonly roles: Config['roles'],
  ) {}

  get isStopping(): boolean {
    return this.stopping;
  }

  stop(): void {
    this.stopping = true;
  }

  /** Why the process is not ready; empty if it is. */
  missing(): string[] {
    const missing = [...(this.stopping ? ['the process is stopping'] : []), ...this.store.missing()];
    if (!this.state.caughtUp) missing.push('the control state is being read from the log');
    for (const [topic, runner] of this.projections) {
      const { caughtUp, stalled } = runner.status;
      if (!caughtUp) missing.push(`the projection of ${topic} is catching up with the log`);
      if (stalled !== undefined) missing.push(`the projection of ${topic} cannot write to the read model`);
    }
    return missing;
  }

  /**
   * As `missing`, and for the role `api` also why reads fail. Runs reads that begin after the call, so that a process which
   * reports itself ready does not refuse the next read with 503.
   */
  async check(): Promise<string[]> {
    const missing = this.missing();
    if (missing.length > 0 || !this.roles.has('api')) return missing;
    const unreadable = await this.probed();
    return unreadable === undefined ? this.missing() : [unreadable];
  }

  private async unreadable(): Promise<string | undefined> {
    const probed = probe(this.store.model).then(() => undefined);
    try {
      return await within(PROBE_MS, probed, `the read model did not answer within ${PROBE_MS} ms`);
    } catch (error) {
      if (error instanceof ControlError) return error.message;
      throw error;
    }
  }

  /**
   * Why requests are refused, or undefined. A process serves once its reads show everything that was acknowledged before its
   * start; if the read model fails later, it still records events.
   */
  closedBecause(): string | undefined {
    if (this.stopping) return 'the process is stopping';
    this.served ||= this.missing().length === 0;
    return this.served ? undefined : this.missing()[0];
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
