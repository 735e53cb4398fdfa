import { kindOf, SERVICE_CONTEXT } from '../contract/kinds.js';
import { LIMITS } from '../contract/limits.js';
import type { AuditContextSettings } from '../model/auditctx.js';
import type { DocumentKind } from '../model/resource-kind.js';
import { compileShape } from '../shapes/compiled.js';
import { IsShape, Optional, Satisfies } from '../shapes/shape.js';
import { IngestSettingsDto, ingestFaults } from './ingest.js';

const IsDaysOrNull = (minimum: number) =>
  Satisfies({ type: ['integer', 'null'], minimum, maximum: LIMITS.retentionDays });

/** What of an audit context can be set. */
class AuditContextSettingsDto {
  @IsDaysOrNull(1) retentionDays!: number | null;
  @Optional() @IsShape(() => IngestSettingsDto) ingest?: IngestSettingsDto;
}

/** What of the service's own context can be set. */
class ServiceContextSettingsDto {
  @IsDaysOrNull(LIMITS.deniedRetentionDays) deniedRetentionDays!: number | null;
}

const settingsFaults = compileShape(AuditContextSettingsDto);
const serviceFaults = compileShape(ServiceContextSettingsDto);

/** The settings of an audit context, sent as they were read, or some of them. */
const SETTINGS: DocumentKind<AuditContextSettings> = {
  kind: kindOf('auditctx'),
  newCheck: () => (document) => {
    const { ingest, ...rest } = document as Record<string, unknown>;
    if (ingest === null || ingest === undefined) return settingsFaults(rest);
    return [...settingsFaults(document), ...ingestFaults(ingest)];
  },
  complete: ({ retentionDays, ingest }: AuditContextSettingsDto) => ({ retentionDays, ...(ingest && { ingest }) }),
};

/** Nobody can hide what was done: only of what was not done the retention can be set. */
const SERVICE_SETTINGS: DocumentKind<AuditContextSettings> = {
  ...SETTINGS,
  newCheck: () => (document) => {
    const { retentionDays = null, ...rest } = document as Record<string, unknown>;
    const kept = `must be null: the events of ${SERVICE_CONTEXT} are kept; set deniedRetentionDays`;
    return [...(retentionDays === null ? [] : [{ pointer: '/retentionDays', reason: kept }]), ...serviceFaults(rest)];
  },
  complete: ({ deniedRetentionDays }: ServiceContextSettingsDto) => ({ retentionDays: null, deniedRetentionDays }),
};

export function settingsOf(context: string): DocumentKind<AuditContextSettings> {
  return context === SERVICE_CONTEXT ? SERVICE_SETTINGS : SETTINGS;
}
