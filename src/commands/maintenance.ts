import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { type FieldFault, validationFailed } from '../errors.js';
import type { EventLog, Topic } from '../event-log/event-log.js';
import { EVENT_LOG, MAINTENANCE } from '../tokens.js';
import { type JobState, Jobs, type Tell } from './jobs.js';

/** Which part of the log to compare the read model with, by default all of it, and whether to repair it. */
export interface ReconcileRange {
  readonly repair?: boolean;
  readonly topic?: Extract<Topic, 'audit' | 'control'>;
  readonly partition?: number;
  /** Offset, inclusive. */
  readonly from?: number;
  /** Offset, exclusive. */
  readonly to?: number;
}

/** What the projections can do with a whole read model; each answers its report. */
export interface Maintenance {
  rebuild(tell: Tell, signal: AbortSignal): Promise<object>;
  reconcile(range: ReconcileRange, tell: Tell, signal: AbortSignal): Promise<object>;
}

/** Fills the read model anew from the log, while the old one serves. Answers when it has begun. */
export class StartRebuild extends Command<JobState> {}

@CommandHandler(StartRebuild)
export class StartRebuildHandler implements ICommandHandler<StartRebuild> {
  constructor(
    private readonly jobs: Jobs,
    @Inject(MAINTENANCE) private readonly maintenance: Maintenance,
  ) {}

  async execute(): Promise<JobState> {
    return this.jobs.start('rebuild', (tell, signal) => this.maintenance.rebuild(tell, signal));
  }
}

/** Compares the read model with the log. Answers when it has begun. */
export class StartReconciliation extends Command<JobState> {
  constructor(readonly range: ReconcileRange) {
    super();
  }
}

@CommandHandler(StartReconciliation)
export class StartReconciliationHandler implements ICommandHandler<StartReconciliation> {
  constructor(
    private readonly jobs: Jobs,
    @Inject(MAINTENANCE) private readonly maintenance: Maintenance,
    @Inject(EVENT_LOG) private readonly log: EventLog,
  ) {}

  async execute({ range }: StartReconciliation): Promise<JobState> {
    const faults = await this.faultsOf(range);
    if (faults.length > 0) throw validationFailed(faults);
    return this.jobs.start('reconcile', (tell, signal) => this.maintenance.reconcile(range, tell, signal));
  }

  private async faultsOf({ topic, partition, from, to }: ReconcileRange): Promise<FieldFault[]> {
    const faults: FieldFault[] = [];
    const narrower = Object.entries({ partition, from, to }).filter(([, value]) => value !== undefined);
    if (topic === undefined) {
      return narrower.map(([name]) => ({ pointer: `/${name}`, reason: 'goes with a topic' }));
    }
    if (from !== undefined && to !== undefined && from > to) {
      faults.push({ pointer: '/from', reason: 'must not lie behind `to`' });
    }
    if (partition !== undefined && !(partition in (await this.log.head(topic)))) {
      faults.push({ pointer: '/partition', reason: `is not a partition of ${topic}` });
    }
    return faults;
  }
}
