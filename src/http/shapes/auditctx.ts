import { Satisfies } from './shape.js';

/** 100 years. */
export const MOST_RETENTION_DAYS = 36_500;

const IsDaysOrNull = (minimum: number) =>
  Satisfies({ type: ['integer', 'null'], minimum, maximum: MOST_RETENTION_DAYS });

/** What of an audit context can be set. */
export class AuditContextSettingsDto {
  @IsDaysOrNull(1) retentionDays!: number | null;
}

/** Denied attempts stay long enough to be looked at, whatever anybody sets. */
export const LEAST_DENIED_DAYS = 7;

/** What of the service's own context can be set. */
export class ServiceContextSettingsDto {
  @IsDaysOrNull(LEAST_DENIED_DAYS) deniedRetentionDays!: number | null;
}
