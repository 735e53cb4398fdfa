import { ControlError } from '../contract/errors.js';
import type { ControlState } from '../control/state.js';
import type { Topic } from '../event-log/event-log.js';
import type { Readiness } from '../http/readiness.js';
import { coalesced } from '../platform/coalesced.js';
import type { Config } from '../platform/config/config.js';
import { within } from '../platform/waiting.js';
import type { ProjectionRunner } from '../projections/projection-runner.js';
import { probe } from '../read-model/probe.js';
import type { Store } from './store.js';

/** A read that takes longer is none: whoever asks whether the process is ready will not wait longer either. */
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

  /** Everything that keeps the process from being ready; nothing when it is. */
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
   * As `missing`, and for the role `api` also why reads are refused: by reading, in a look that begins after the call, so
   * that no process calls itself ready which answers the next read with 503.
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
   * Why requests are refused, or undefined. A process serves from the moment at which its reads show everything that
   * was acknowledged before its start; a read model that fails later does not keep it from recording.
   */
  closedBecause(): string | undefined {
    if (this.stopping) return 'the process is stopping';
    this.served ||= this.missing().length === 0;
    return this.served ? undefined : this.missing()[0];
  }
}
