import { IsObject } from 'class-validator';
import { LIMITS } from '../contract/limits.js';
import { Example, IsInstant, IsShape, IsText, Means, Optional, Satisfies } from './shape.js';

const FILTERABLE = { max: LIMITS.text };
const NAMING = { max: LIMITS.text, format: 'no-control-characters' };

export class AuditResourceDto {
  @Optional()
  @Means('Identifier of the resource. It or the name is required.', 'order-4711')
  @IsText(NAMING)
  id?: string;
  @Optional() @Means('Name of the resource; may hold slashes.', 'order/4711') @IsText(NAMING) name?: string;
  @Optional() @Means('Type of the resource.', 'order') @IsText(NAMING) type?: string;
  @Optional() @Means('Anything else about the resource.', { total: 12.5 }) @IsObject() data?: object;
}

/** Set by the service, whatever is sent. */
export class AuditPublisherDto {
  @Optional()
  @Means('Link of the user or service account that published.', '/org/acme/serviceaccount/ci')
  @IsText()
  link?: string;
  @Optional()
  @Means('Identifier of the key that it used.', '01890a5d-ac96-774b-bcce-b302099a8057')
  @IsText()
  keyId?: string;
  @Optional() @Means('Address that the request came from.', '192.0.2.7') @IsText() remoteIp?: string;
}

export class AuditContextDto {
  @Optional() @Means('Name of the organization; set by the service.', 'acme') @IsText() org?: string;
  @Optional() @Means('Name of the audit context; set by the service.', 'orders') @IsText() name?: string;
  @Optional()
  @Means('Address that it was done from; the address of the publisher if left out.', '198.51.100.4')
  @IsText()
  remoteIp?: string;
  @Optional() @Means('Program that reports the event.', 'webshop') @IsText() eventSource?: string;
  @Optional() @Means('Where it happened.', 'eu-central-1') @IsText(FILTERABLE) location?: string;
  @Optional() @Means('Alias of the GVC where it happened.', 'shop') @IsText(FILTERABLE) gvcAlias?: string;
  @Optional() @Means('Pod that reports the event.', 'web-5d9c') @IsText(FILTERABLE) podId?: string;
  @Optional()
  @Means('Who published the event; set by the service.')
  @IsShape(() => AuditPublisherDto)
  publisher?: AuditPublisherDto;
  @Optional() @Means('Anything else about where it happened.', { build: 'a1b2c3' }) @IsObject() data?: object;
}

export class AuditSubjectDto {
  @Optional() @Means('E-mail address of who did it.', 'ann@example.com') @IsText(FILTERABLE) email?: string;
  @Optional() @Means('Name of who did it.', 'Ann Example') @IsText() name?: string;
  @Optional() @Means('Claims of the token of who did it.', { sub: 'ann' }) @IsObject() claims?: object;
  @Optional() @Means('Anything else about who did it.', { team: 'payments' }) @IsObject() data?: object;
}

export class AuditActionDto {
  @Optional() @Means('What was done.', 'cancel') @IsText(FILTERABLE) type?: string;
  @Optional() @Means('Anything else about what was done.', { reason: 'out of stock' }) @IsObject() data?: object;
}

export class AuditResultDto {
  @Optional() @Means('How it ended.', 'success') @IsText(FILTERABLE) status?: string;
  @Optional() @Means('How it ended, in words.', 'the order is cancelled') @IsText() message?: string;
}

@Example(
  {
    resource: { id: 'order-4711', name: 'order/4711', type: 'order' },
    eventTime: '2026-01-31T12:00:00.000Z',
    subject: { email: 'ann@example.com' },
    action: { type: 'cancel' },
    result: { status: 'success' },
  },
  'An audit event as a client sends it. What the service assigns may be there; it is replaced.',
)
export class AuditEventDto {
  @Means('What it was done to.')
  @Satisfies({ anyOf: ['id', 'name'].map((name) => ({ required: [name], properties: { [name]: { minLength: 1 } } })) })
  @IsShape(() => AuditResourceDto)
  resource!: AuditResourceDto;

  @Optional() @Means('Identifier of the event; set by the service.') @IsText() id?: string;
  @Optional()
  @Means('When it happened; when the request came if left out.', '2026-01-31T12:00:00.000Z')
  @IsInstant()
  eventTime?: string;
  @Optional()
  @Means('`eventTime` as it was sent, if that is finer than a millisecond; set by the service.')
  @IsText()
  eventTimeSent?: string;
  @Optional() @Means('When the service accepted the event; set by the service.') @IsText() postedTime?: string;
  @Optional() @Means('When the log recorded the event; set by the service.') @IsText() receivedTime?: string;
  @Optional()
  @Means('Identifier of the request that caused it; that of the publish if left out.', 'req-81c2')
  @IsText(FILTERABLE)
  requestId?: string;
  @Optional() @Means('Where it happened.') @IsShape(() => AuditContextDto) context?: AuditContextDto;
  @Optional()
  @Means('Who did it; the publisher if left out.')
  @IsShape(() => AuditSubjectDto)
  subject?: AuditSubjectDto;
  @Optional() @Means('What was done.') @IsShape(() => AuditActionDto) action?: AuditActionDto;
  @Optional() @Means('How it ended.') @IsShape(() => AuditResultDto) result?: AuditResultDto;
}
