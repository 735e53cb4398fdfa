import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { type FieldFault, validationFailed } from '../contract/errors.js';
import type { Caller } from '../control/fold.js';
import { EVENT_LOG, type EventLog, type Topic } from '../event-log/event-log.js';
import { SecurityEvents } from './security-events.js';
import { type JobName, type JobState, Jobs, type Tell, type Work } from './upkeep-jobs.js';

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

/** Operations on the whole read model; each returns its report. */
export interface Maintenance {
  rebuild(tell: Tell, signal: AbortSignal): Promise<object>;
  reconcile(range: ReconcileRange, tell: Tell, signal: AbortSignal): Promise<object>;
  /** Compares the trees with the log. */
  checkTrees(tell: Tell, signal: AbortSignal): Promise<object>;
}

/** Under this token Nest injects the `Maintenance`. */
export const MAINTENANCE = Symbol('Maintenance');

/** Fills the read model anew from the log, while the old one serves. Answers when it has begun. */
export class StartRebuild extends Command<JobState> {
  constructor(readonly by: Caller) {
    super();
  }
}

@CommandHandler(StartRebuild)
export class StartRebuildHandler implements ICommandHandler<StartRebuild> {
  constructor(
    private readonly jobs: Jobs,
    private readonly security: SecurityEvents,
    @Inject(MAINTENANCE) private readonly maintenance: Maintenance,
  ) {}

  async execute({ by }: StartRebuild): Promise<JobState> {
    const record = () => this.security.recordRoot(by, { action: 'rebuild', data: {} });
    return startRecorded(this.jobs, 'rebuild', record, (tell, signal) => this.maintenance.rebuild(tell, signal));
  }
}

/** Compares the read model with the log. Answers when it has begun. */
export class StartReconciliation extends Command<JobState> {
  constructor(
    readonly range: ReconcileRange,
    readonly by: Caller,
  ) {
    super();
  }
}

@CommandHandler(StartReconciliation)
export class StartReconciliationHandler implements ICommandHandler<StartReconciliation> {
  constructor(
    private readonly jobs: Jobs,
    private readonly security: SecurityEvents,
    @Inject(MAINTENANCE) private readonly maintenance: Maintenance,
    @Inject(EVENT_LOG) private readonly log: EventLog,
  ) {}

  async execute({ range, by }: StartReconciliation): Promise<JobState> {
    const faults = await this.faultsOf(range);
    if (faults.length > 0) throw validationFailed(faults);
    const record = async () => {
      if (range.repair) await this.security.recordRoot(by, { action: 'reconcile', data: { ...range } });
    };
    return startRecorded(this.jobs, 'reconcile', record, (tell, signal) =>
      this.maintenance.reconcile(range, tell, signal),
    );
  }

  private async faultsOf({ topic, partition, from, to }: ReconcileRange): Promise<FieldFault[]> {
    const faults: FieldFault[] = [];
    const narrower = Object.entries({ partition, from, to }).filter(([, value]) => value !== undefined);
    if (topic === undefined) {
      return narrower.map(([name]) => ({ pointer: `/${name}`, reason: 'requires `topic`' }));
    }
    if (from !== undefined && to !== undefined && from > to) {
      faults.push({ pointer: '/from', reason: 'must not be greater than `to`' });
    }
    if (partition !== undefined && !(partition in (await this.log.head(topic)))) {
      faults.push({ pointer: '/partition', reason: `is not a partition of ${topic}` });
    }
    return faults;
  }
}

/** Makes the trees over the log anew, and compares them with what was sealed. Answers when it has begun. */
export class StartTlogCheck extends Command<JobState> {}

@CommandHandler(StartTlogCheck)
export class StartTlogCheckHandler implements ICommandHandler<StartTlogCheck> {
  constructor(
    private readonly jobs: Jobs,
    @Inject(MAINTENANCE) private readonly maintenance: Maintenance,
  ) {}

  async execute(): Promise<JobState> {
    const { state } = await this.jobs.start('tlog-check', (tell, signal) => this.maintenance.checkTrees(tell, signal));
    return state;
  }
}

/** Starts the job and has it recorded before it does anything. Rejects, and the job fails, if the log does not take that. */
async function startRecorded(jobs: Jobs, name: JobName, record: () => Promise<void>, work: Work): Promise<JobState> {
  let recorded: Promise<void> | undefined;
  const { state } = await jobs.start(name, async (tell, signal) => {
    recorded = record();
    await recorded;
    return work(tell, signal);
  });
  await recorded;
  return state;
}
