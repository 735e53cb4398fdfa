import { type DynamicModule, Module } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { Acknowledgements } from '../commands/acknowledgements.js';
import { AppendsUnderWay } from '../commands/appends-under-way.js';
import { PublishAuditEventsHandler } from '../commands/audit-publish.js';
import { EditAuditContextHandler } from '../commands/auditctx-edit.js';
import { TakeBackupHandler } from '../commands/backup-take.js';
import { CommandRunner } from '../commands/command-runner.js';
import { ControlChanges } from '../commands/control-changes.js';
import { ListDeadLettersHandler } from '../commands/dead-letter-list.js';
import { ReplayDeadLettersHandler } from '../commands/dead-letter-replay.js';
import { SkipRecordHandler } from '../commands/dead-letter-skip.js';
import { FormerEvents } from '../commands/event-keys.js';
import { Guesses } from '../commands/guesses.js';
import {
  AcceptInvitationHandler,
  InviteUsersHandler,
  MAILER,
  type Mailer,
  RevokeInvitationHandler,
} from '../commands/invitation.js';
import { AddKeyHandler, RemoveKeyHandler } from '../commands/key.js';
import { KeySecrets } from '../commands/key-secrets.js';
import { CreateOrgHandler, RecoverOrgHandler } from '../commands/org.js';
import { CreateResourceHandler, DeleteResourceHandler, EditResourceHandler } from '../commands/resource.js';
import { SecurityEvents } from '../commands/security-events.js';
import {
  MAINTENANCE,
  type Maintenance,
  StartRebuildHandler,
  StartReconciliationHandler,
  StartTlogCheckHandler,
} from '../commands/upkeep.js';
import { Jobs } from '../commands/upkeep-jobs.js';
import { AuthorityCheck } from '../control/authority-check.js';
import { PastStates } from '../control/past-state.js';
import { ControlState } from '../control/state.js';
import { BACKUP, type Backup, EVENT_LOG, type EventLog } from '../event-log/event-log.js';
import { Ingest } from '../http/ingest/ingest.js';
import { Readiness } from '../http/readiness.js';
import { AccessReportController } from '../http/routes/access-report.controller.js';
import { AuditContextController } from '../http/routes/audit-context.controller.js';
import { AuditExportController } from '../http/routes/audit-export.controller.js';
import { AuditIngestController } from '../http/routes/audit-ingest.controller.js';
import { AuditPublishController } from '../http/routes/audit-publish.controller.js';
import { AuditReadController } from '../http/routes/audit-read.controller.js';
import { AuditStatsController } from '../http/routes/audit-stats.controller.js';
import { BackupController } from '../http/routes/backup.controller.js';
import { DeadLetterController } from '../http/routes/dead-letter.controller.js';
import { HealthController } from '../http/routes/health.controller.js';
import { InvitationController } from '../http/routes/invitation.controller.js';
import { KeyController } from '../http/routes/key.controller.js';
import { MetricsController } from '../http/routes/metrics.controller.js';
import { OpenApiController } from '../http/routes/openapi.controller.js';
import { OrgController } from '../http/routes/org.controller.js';
import { OtlpController } from '../http/routes/otlp.controller.js';
import { PermissionsController } from '../http/routes/permissions.controller.js';
import { resourceController } from '../http/routes/resource.controller.js';
import { EventLogController } from '../http/routes/resource-history.controller.js';
import { OrgLogController, serviceLogController } from '../http/routes/tlog.controller.js';
import { MaintenanceController } from '../http/routes/upkeep.controller.js';
import { WhoAmIController } from '../http/routes/whoami.controller.js';
import { RESOURCE_KINDS } from '../kinds/kinds.js';
import { CLOCK, type Clock } from '../platform/clock.js';
import { CONFIG, type Config } from '../platform/config/config.js';
import { IDS, type Ids } from '../platform/ids.js';
import { Metrics } from '../platform/metrics.js';
import { ServiceSecret } from '../platform/service-secret.js';
import { Turns } from '../platform/turns.js';
import { Waiters } from '../progress/waiters.js';
import { ReportAccessHandler } from '../queries/access-report.js';
import { ExportAuditEventsHandler } from '../queries/audit-export.js';
import { GetAuditEventHandler } from '../queries/audit-get.js';
import { ListAuditEventsHandler } from '../queries/audit-list.js';
import { GetAuditStatsHandler } from '../queries/audit-stats.js';
import { GetAuditContextHandler, ListAuditContextsHandler } from '../queries/auditctx.js';
import { Cursors } from '../queries/cursor.js';
import { GetEventProofHandler } from '../queries/event-proof.js';
import { ListKeysHandler } from '../queries/key-list.js';
import { GetOrgHandler } from '../queries/org-get.js';
import { ListOrgsHandler } from '../queries/org-list.js';
import { ExportProvenEventsHandler } from '../queries/proven-export.js';
import { Readings } from '../queries/reading.js';
import { GetResourceHandler } from '../queries/resource-get.js';
import { GetEventLogHandler } from '../queries/resource-history.js';
import { ListResourcesHandler } from '../queries/resource-list.js';
import { QueryResourcesHandler } from '../queries/resource-query.js';
import {
  GetCheckpointHandler,
  GetHeadProofHandler,
  GetLogKeysHandler,
  GetTileHandler,
  GetTlogStatusHandler,
} from '../queries/tlog.js';
import { WhoAmIHandler } from '../queries/whoami.js';
import { READ_MODEL, type ReadModel } from '../read-model/read-model.js';
import { RETENTION, type Retention } from '../read-model/retention.js';
import { SEALED_HISTORY, type SealedHistory } from '../sealing/history.js';
import { type ReadTlogStatus, TLOG_STATUS } from '../sealing/status.js';

/** What a process is made of, whatever the store. */
export interface Parts {
  readonly config: Config;
  readonly rootKey: string;
  readonly secret: ServiceSecret;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: EventLog & Partial<Backup>;
  readonly model: ReadModel;
  readonly retention: Retention;
  readonly waiters: Waiters;
  readonly state: ControlState;
  readonly runner: CommandRunner;
  readonly readiness: Readiness;
  readonly metrics: Metrics;
  readonly turns: Turns;
  readonly guesses: Guesses;
  readonly security: SecurityEvents;
  readonly jobs: Jobs;
  readonly maintenance: Maintenance;
  readonly mailer: Mailer;
  readonly history: SealedHistory;
  readonly tlogStatus: ReadTlogStatus;
}

const COMMANDS = [
  ListDeadLettersHandler,
  ReplayDeadLettersHandler,
  SkipRecordHandler,
  StartRebuildHandler,
  StartReconciliationHandler,
  StartTlogCheckHandler,
  AcceptInvitationHandler,
  InviteUsersHandler,
  RevokeInvitationHandler,
  AddKeyHandler,
  RemoveKeyHandler,
  CreateResourceHandler,
  DeleteResourceHandler,
  EditResourceHandler,
  CreateOrgHandler,
  RecoverOrgHandler,
  EditAuditContextHandler,
  PublishAuditEventsHandler,
  TakeBackupHandler,
];
const QUERIES = [
  ListKeysHandler,
  WhoAmIHandler,
  ReportAccessHandler,
  ExportAuditEventsHandler,
  ExportProvenEventsHandler,
  GetCheckpointHandler,
  GetEventProofHandler,
  GetHeadProofHandler,
  GetLogKeysHandler,
  GetTileHandler,
  GetTlogStatusHandler,
  GetAuditContextHandler,
  GetAuditEventHandler,
  GetAuditStatsHandler,
  GetEventLogHandler,
  GetOrgHandler,
  ListOrgsHandler,
  GetResourceHandler,
  ListResourcesHandler,
  QueryResourcesHandler,
  ListAuditContextsHandler,
  ListAuditEventsHandler,
];

/** About the process itself, whatever its roles. */
const OPEN_CONTROLLERS = [HealthController, MetricsController, OpenApiController];
const API_CONTROLLERS = [
  AccessReportController,
  AuditContextController,
  AuditExportController,
  AuditIngestController,
  AuditPublishController,
  AuditReadController,
  AuditStatsController,
  BackupController,
  DeadLetterController,
  MaintenanceController,
  EventLogController,
  InvitationController,
  KeyController,
  OrgController,
  OrgLogController,
  OtlpController,
  PermissionsController,
  WhoAmIController,
  ...RESOURCE_KINDS.map(resourceController),
];

@Module({})
// biome-ignore lint/complexity/noStaticOnlyClass: a dynamic module is a class with a factory by the framework's convention.
export class AppModule {
  static of(parts: Parts): DynamicModule {
    return {
      module: AppModule,
      imports: [CqrsModule.forRoot()],
      controllers: [
        ...OPEN_CONTROLLERS,
        ...(parts.config.roles.has('api')
          ? [...API_CONTROLLERS, serviceLogController(parts.config.tlog.isPublic)]
          : []),
      ],
      providers: [
        { provide: CONFIG, useValue: parts.config },
        { provide: ServiceSecret, useValue: parts.secret },
        { provide: CLOCK, useValue: parts.clock },
        { provide: IDS, useValue: parts.ids },
        { provide: EVENT_LOG, useValue: parts.log },
        { provide: BACKUP, useValue: parts.log },
        { provide: READ_MODEL, useValue: parts.model },
        { provide: RETENTION, useValue: parts.retention },
        { provide: Waiters, useValue: parts.waiters },
        { provide: ControlState, useValue: parts.state },
        { provide: AuthorityCheck, useValue: new AuthorityCheck(parts.state, parts.clock) },
        { provide: CommandRunner, useValue: parts.runner },
        { provide: Readiness, useValue: parts.readiness },
        { provide: Metrics, useValue: parts.metrics },
        { provide: Turns, useValue: parts.turns },
        { provide: PastStates, useValue: new PastStates(parts.log, parts.turns, parts.state) },
        { provide: Guesses, useValue: parts.guesses },
        { provide: SecurityEvents, useValue: parts.security },
        { provide: Jobs, useValue: parts.jobs },
        { provide: MAINTENANCE, useValue: parts.maintenance },
        { provide: MAILER, useValue: parts.mailer },
        { provide: SEALED_HISTORY, useValue: parts.history },
        { provide: TLOG_STATUS, useValue: parts.tlogStatus },
        Acknowledgements,
        AppendsUnderWay,
        ControlChanges,
        FormerEvents,
        Ingest,
        KeySecrets,
        Readings,
        Cursors,
        ...COMMANDS,
        ...QUERIES,
      ],
    };
  }
}
