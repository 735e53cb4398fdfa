import { type DynamicModule, Module } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import type { Clock } from './clock.js';
import { PublishAuditEventsHandler } from './commands/audit-publish.js';
import { EditAuditContextHandler } from './commands/auditctx-edit.js';
import { TakeBackupHandler } from './commands/backup-take.js';
import { CommandRunner } from './commands/command-runner.js';
import { ControlState } from './commands/control-state.js';
import { ListDeadLettersHandler } from './commands/dead-letter-list.js';
import { ReplayDeadLettersHandler } from './commands/dead-letter-replay.js';
import { Jobs } from './commands/jobs.js';
import { KeySecrets } from './commands/key-secrets.js';
import { type Maintenance, StartRebuildHandler, StartReconciliationHandler } from './commands/maintenance.js';
import { CreateOrgHandler } from './commands/org-create.js';
import type { Config } from './config.js';
import type { Backup } from './event-log/backup.js';
import type { EventLog } from './event-log/event-log.js';
import { AuditContextController } from './http/audit-context.controller.js';
import { AuditExportController } from './http/audit-export.controller.js';
import { AuditPublishController } from './http/audit-publish.controller.js';
import { AuditReadController } from './http/audit-read.controller.js';
import { BackupController } from './http/backup.controller.js';
import { DeadLetterController } from './http/dead-letter.controller.js';
import { HealthController } from './http/health.controller.js';
import { MaintenanceController } from './http/maintenance.controller.js';
import { MetricsController } from './http/metrics.controller.js';
import { OpenApiController } from './http/openapi.controller.js';
import { OrgController } from './http/org.controller.js';
import type { Ids } from './ids.js';
import { Metrics } from './metrics.js';
import { Waiters } from './progress/waiters.js';
import { ExportAuditEventsHandler } from './queries/audit-export.js';
import { GetAuditEventHandler } from './queries/audit-get.js';
import { ListAuditEventsHandler } from './queries/audit-list.js';
import { GetAuditContextHandler } from './queries/auditctx-get.js';
import { ListAuditContextsHandler } from './queries/auditctx-list.js';
import { GetOrgHandler } from './queries/org-get.js';
import type { ReadModel } from './read-model/read-model.js';
import { Readiness } from './readiness.js';
import { BACKUP, CLOCK, CONFIG, EVENT_LOG, IDS, MAINTENANCE, READ_MODEL, ROOT_KEY } from './tokens.js';

/** What a process is made of, whatever the store. */
export interface Parts {
  readonly config: Config;
  readonly rootKey: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: EventLog & Partial<Backup>;
  readonly model: ReadModel;
  readonly waiters: Waiters;
  readonly state: ControlState;
  readonly runner: CommandRunner;
  readonly readiness: Readiness;
  readonly metrics: Metrics;
  readonly jobs: Jobs;
  readonly maintenance: Maintenance;
}

const COMMANDS = [
  CreateOrgHandler,
  EditAuditContextHandler,
  ListDeadLettersHandler,
  PublishAuditEventsHandler,
  ReplayDeadLettersHandler,
  StartRebuildHandler,
  StartReconciliationHandler,
  TakeBackupHandler,
];
const QUERIES = [
  ExportAuditEventsHandler,
  GetAuditContextHandler,
  GetAuditEventHandler,
  GetOrgHandler,
  ListAuditContextsHandler,
  ListAuditEventsHandler,
];

/** About the process itself, whatever its roles. */
const OPEN_CONTROLLERS = [HealthController, MetricsController, OpenApiController];
const API_CONTROLLERS = [
  AuditContextController,
  AuditExportController,
  AuditPublishController,
  AuditReadController,
  BackupController,
  DeadLetterController,
  MaintenanceController,
  OrgController,
];

@Module({})
// biome-ignore lint/complexity/noStaticOnlyClass: a dynamic module is a class with a factory by the framework's convention.
export class AppModule {
  static of(parts: Parts): DynamicModule {
    return {
      module: AppModule,
      imports: [CqrsModule.forRoot()],
      controllers: [...OPEN_CONTROLLERS, ...(parts.config.roles.has('api') ? API_CONTROLLERS : [])],
      providers: [
        { provide: CONFIG, useValue: parts.config },
        { provide: ROOT_KEY, useValue: parts.rootKey },
        { provide: CLOCK, useValue: parts.clock },
        { provide: IDS, useValue: parts.ids },
        { provide: EVENT_LOG, useValue: parts.log },
        { provide: BACKUP, useValue: parts.log },
        { provide: READ_MODEL, useValue: parts.model },
        { provide: Waiters, useValue: parts.waiters },
        { provide: ControlState, useValue: parts.state },
        { provide: CommandRunner, useValue: parts.runner },
        { provide: Readiness, useValue: parts.readiness },
        { provide: Metrics, useValue: parts.metrics },
        { provide: Jobs, useValue: parts.jobs },
        { provide: MAINTENANCE, useValue: parts.maintenance },
        KeySecrets,
        ...COMMANDS,
        ...QUERIES,
      ],
    };
  }
}
