import { IsWhole } from './shape.js';

/** 100 years. */
export const MOST_RETENTION_DAYS = 36_500;

/** What of an audit context can be set. */
export class AuditContextSettingsDto {
  @IsWhole({ min: 1, max: MOST_RETENTION_DAYS, orNull: true }) retentionDays!: number | null;
}
