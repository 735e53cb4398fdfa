import { IsJsonArray, IsText, IsWhole, Optional } from './shape.js';

/** 100 years. */
const MOST_RETENTION_DAYS = 36_500;

/** The settings of an audit context, as a change sends them: what was read may be sent back as it is. */
export class AuditContextSettingsDto {
  @IsWhole({ min: 1, max: MOST_RETENTION_DAYS, orNull: true }) retentionDays!: number | null;
  @Optional() @IsText({ pattern: '^auditctx$' }) kind?: string;
  @Optional() @IsText() id?: string;
  @Optional() @IsText() name?: string;
  @Optional() @IsWhole({ min: 0, max: Number.MAX_SAFE_INTEGER }) count?: number;
  @Optional() @IsWhole({ min: 1, max: Number.MAX_SAFE_INTEGER }) version?: number;
  @Optional() @IsText() created?: string;
  @Optional() @IsText() lastModified?: string;
  @Optional() @IsJsonArray() links?: unknown[];
}
