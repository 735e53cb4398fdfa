import { kindOf } from '../contract/kinds.js';
import { SERVICE_CONTEXT } from '../model/audit-event.js';
import type { AuditContextSettings } from '../model/auditctx.js';
import type { DocumentKind } from '../model/resource-kind.js';
import { AuditContextSettingsDto, ServiceContextSettingsDto } from '../shapes/auditctx.js';
import { compileShape } from '../shapes/compiled.js';

const settingsFaults = compileShape(AuditContextSettingsDto);
const serviceFaults = compileShape(ServiceContextSettingsDto);

/** The settings of an audit context, sent as they were read, or the retention alone. */
const SETTINGS: DocumentKind<AuditContextSettings> = {
  kind: kindOf('auditctx'),
  newCheck: () => settingsFaults,
  complete: ({ retentionDays }: AuditContextSettingsDto) => ({ retentionDays }),
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
