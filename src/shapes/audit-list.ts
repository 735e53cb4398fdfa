import { LAST_PATTERN, PAGE_SIZE_PATTERN } from '../contract/limits.js';
import { IsCursor, IsInstant, IsText, Optional } from './shape.js';

/** The filters of all lists and exports of audit events, and the cursor to continue from. */
export class AuditFilterDto {
  @Optional() @IsText() contextName?: string;
  @Optional() @IsText() resourceId?: string;
  @Optional() @IsText() resourceName?: string;
  @Optional() @IsText() resourceType?: string;
  @Optional() @IsText() location?: string;
  @Optional() @IsText() gvcAlias?: string;
  @Optional() @IsText() podId?: string;
  @Optional() @IsText() publisher?: string;
  @Optional() @IsText() actionType?: string;
  @Optional() @IsText() subjectEmail?: string;
  @Optional() @IsText() requestId?: string;
  @Optional() @IsText() resultStatus?: string;
  @Optional() @IsInstant() fromEvent?: string;
  @Optional() @IsInstant() toEvent?: string;
  @Optional() @IsCursor() cursor?: string;
}

/** The query parameters of the audit lists, as text. Those that the path fixes are refused besides. */
export class AuditListDto extends AuditFilterDto {
  @Optional() @IsText({ pattern: '^(newest|received)$' }) order?: 'newest' | 'received';
  @Optional() @IsText({ pattern: '^[1-9][0-9]{0,8}$' }) page?: string;
  @Optional() @IsText({ pattern: PAGE_SIZE_PATTERN }) pageSize?: string;
  /** With `order=received`, in place of a page: so many events before the end. The `resume` link goes on behind it. */
  @Optional() @IsText({ pattern: LAST_PATTERN }) last?: string;
}

export class AuditPublishDto {
  @Optional() @IsText({ pattern: '^(true|false)$' }) async?: 'true' | 'false';
}
