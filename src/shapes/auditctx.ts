import { LIMITS } from '../contract/limits.js';
import { Satisfies } from './shape.js';

const IsDaysOrNull = (minimum: number) =>
  Satisfies({ type: ['integer', 'null'], minimum, maximum: LIMITS.retentionDays });

/** What of an audit context can be set. */
export class AuditContextSettingsDto {
  @IsDaysOrNull(1) retentionDays!: number | null;
}

/** What of the service's own context can be set. */
export class ServiceContextSettingsDto {
  @IsDaysOrNull(LIMITS.deniedRetentionDays) deniedRetentionDays!: number | null;
}
