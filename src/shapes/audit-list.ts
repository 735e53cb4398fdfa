import { IsIn } from 'class-validator';
import { LIMITS } from '../contract/limits.js';
import { IsCursor, IsFlag, IsInstant, IsPage, IsPageSize, IsText, IsWholeNumber, Means, Optional } from './shape.js';

/** The bounds on `eventTime` that lists and exports take. */
export class EventTimesDto {
  @Optional()
  @Means('Only events with this `eventTime` or a later one.', '2026-01-01T00:00:00.000Z')
  @IsInstant()
  fromEvent?: string;
  @Optional()
  @Means('Only events with an earlier `eventTime`.', '2026-02-01T00:00:00.000Z')
  @IsInstant()
  toEvent?: string;
}

/** The filters of all lists, exports and counts of audit events. */
export class AuditFilterDto extends EventTimesDto {
  @Optional() @Means('Only events of this audit context.', 'orders') @IsText() contextName?: string;
  @Optional() @Means('Only events of the resource with this identifier.', 'order-4711') @IsText() resourceId?: string;
  @Optional() @Means('Only events of resources with this name.', 'order/4711') @IsText() resourceName?: string;
  @Optional() @Means('Only events of resources of this type.', 'order') @IsText() resourceType?: string;
  @Optional() @Means('Only events with this `context.location`.', 'eu-central-1') @IsText() location?: string;
  @Optional() @Means('Only events with this `context.gvcAlias`.', 'shop') @IsText() gvcAlias?: string;
  @Optional() @Means('Only events with this `context.podId`.', 'web-5d9c') @IsText() podId?: string;
  @Optional()
  @Means('Only events that this user or service account published, by its link.', '/org/acme/serviceaccount/ci')
  @IsText()
  publisher?: string;
  @Optional() @Means('Only events with this `action.type`.', 'edit') @IsText() actionType?: string;
  @Optional() @Means('Only events with this `subject.email`.', 'ann@example.com') @IsText() subjectEmail?: string;
  @Optional() @Means('Only events with this `requestId`.', 'req-81c2') @IsText() requestId?: string;
  @Optional() @Means('Only events with this `result.status`.', 'success') @IsText() resultStatus?: string;
  @Optional()
  @Means(
    'Only events whose `id` is a UUID that ends with these 8, 10 or 12 hexadecimal digits, in small letters.',
    'b302099a8057',
  )
  @IsText({ pattern: '^([\\da-f]{2}){4,6}$' })
  idEnding?: string;
}

/** The filters, and the cursor to continue from. */
class PagedAuditFilterDto extends AuditFilterDto {
  @Optional() @IsCursor() cursor?: string;
}

/** The query parameters of the export, as text. */
export class AuditExportDto extends PagedAuditFilterDto {
  @Optional() @Means('Whether the export proves its events; see `docs/proofs.md`.') @IsFlag() proof?: string;
  @Optional()
  @Means('Size of an earlier checkpoint, whose root must follow from the export as well.', 4096)
  @IsWholeNumber(0, 999_999_999_999_999)
  pinned?: string;
}

/** The query parameters of the audit lists, as text. Those that the path fixes are refused besides. */
export class AuditListDto extends PagedAuditFilterDto {
  @Optional()
  @Means('`newest`: by `eventTime`, newest first. `received`: in the order received, oldest first.', 'newest')
  @IsIn(['newest', 'received'])
  order?: 'newest' | 'received';
  @Optional() @IsPage() page?: string;
  @Optional() @IsPageSize() pageSize?: string;
  @Optional()
  @Means(
    'With `order=received`, in place of a page: begins so many events before the end. The `resume` link continues behind it.',
    10,
  )
  @IsWholeNumber(0, LIMITS.page.most)
  last?: string;
}

/** What events can be counted by: what lists filter by, but for the identifiers of requests, which hardly ever repeat. */
export const COUNTED_BY = [
  'actionType',
  'contextName',
  'gvcAlias',
  'location',
  'podId',
  'publisher',
  'resourceId',
  'resourceName',
  'resourceType',
  'resultStatus',
  'subjectEmail',
] as const;

/** The query parameters of the counts, as text. */
export class AuditStatsDto extends AuditFilterDto {
  @Means('The field by whose values the events are counted.', 'actionType')
  @IsIn(COUNTED_BY)
  by!: (typeof COUNTED_BY)[number];
  @Optional()
  @Means('How many of the most frequent values to return; 10 if left out.', 10)
  @IsWholeNumber(1, LIMITS.stats.values)
  top?: string;
  @Optional()
  @Means(
    'Into how many parts of one length to divide the time from `fromEvent` to `toEvent`, which are required then.',
    24,
  )
  @IsWholeNumber(0, LIMITS.stats.buckets)
  buckets?: string;
}

export class AuditPublishDto {
  @Optional()
  @Means('Whether to return as soon as the event is durable, with 202, before it can be found.', true)
  @IsFlag()
  async?: string;
}

export class AuditIngestDto extends AuditPublishDto {
  @Optional()
  @Means('How long the sender waits; the Kubernetes API server sends it. It changes nothing.', '30s')
  @IsText({ max: LIMITS.identifier })
  timeout?: string;
}

export class AuditBulkDto extends AuditPublishDto {
  @Optional() @Means('`false`: all items are recorded, or none.', false) @IsFlag() partial?: string;
}
