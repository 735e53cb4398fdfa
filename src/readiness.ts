import type { ControlState } from './commands/control-state.js';
import type { Topic } from './event-log/event-log.js';
import type { ProjectionRunner } from './projections/projection-runner.js';
import type { Store } from './store.js';

/** Whether the process serves, and what it waits for. */
export class Readiness {
  private stopping = false;
  private served = false;

  constructor(
    private readonly store: Pick<Store, 'missing'>,
    private readonly state: ControlState,
    private readonly projections: ReadonlyMap<Topic, ProjectionRunner>,
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
   * Why requests are refused, or undefined. A process serves from the moment at which its reads show everything that
   * was acknowledged before its start; a read model that fails later does not keep it from recording.
   */
  closedBecause(): string | undefined {
    if (this.stopping) return 'the process is stopping';
    this.served ||= this.missing().length === 0;
    return this.served ? undefined : this.missing()[0];
  }
}
