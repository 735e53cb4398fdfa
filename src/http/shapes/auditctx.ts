import { IsWhole } from './shape.js';

/** 100 years. */
export const MOST_RETENTION_DAYS = 36_500;

/** What of an audit context can be set. */
export class AuditContextSettingsDto {
  @IsWhole({ min: 1, max: MOST_RETENTION_DAYS, orNull: true }) retentionDays!: number | null;
}

/** Denied attempts stay long enough to be looked at, whatever anybody sets. */
export const LEAST_DENIED_DAYS = 7;

/** What of the service's own context can be set. */
export class ServiceContextSettingsDto {
  @IsWhole({ min: LEAST_DENIED_DAYS, max: MOST_RETENTION_DAYS, orNull: true }) deniedRetentionDays!: number | null;
}
