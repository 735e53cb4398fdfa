import { PAGE_SIZE_PATTERN } from '../contract/limits.js';
import { IsCursor, IsInstant, IsText, Optional } from './shape.js';

/** The query parameters of an event log, as text. */
export class EventLogDto {
  @Optional() @IsText() actionType?: string;
  @Optional() @IsInstant() fromEvent?: string;
  @Optional() @IsInstant() toEvent?: string;
  @Optional() @IsText({ pattern: '^[1-9][0-9]{0,8}$' }) page?: string;
  @Optional() @IsText({ pattern: PAGE_SIZE_PATTERN }) pageSize?: string;
  @Optional() @IsCursor() cursor?: string;
}

/** The query parameters of an access report, as text. */
export class AccessReportDto {
  @Optional() @IsInstant() at?: string;
}
