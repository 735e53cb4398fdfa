import { EventTimesDto } from './audit-list.js';
import { IsCursor, IsInstant, IsPage, IsPageSize, IsText, Means, Optional } from './shape.js';

/** The query parameters of an event log, as text. */
export class EventLogDto extends EventTimesDto {
  @Optional() @Means('Only events with this `action.type`.', 'edit') @IsText() actionType?: string;
  @Optional() @IsPage() page?: string;
  @Optional() @IsPageSize() pageSize?: string;
  @Optional() @IsCursor() cursor?: string;
}

/** The query parameters of an access report, as text. */
export class AccessReportDto {
  @Optional()
  @Means('The instant that the report is about; now if left out.', '2026-01-31T12:00:00.000Z')
  @IsInstant()
  at?: string;
}
