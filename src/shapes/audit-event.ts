import { IsObject } from 'class-validator';
import { LIMITS } from '../contract/limits.js';
import { IsInstant, IsShape, IsText, Optional, Satisfies } from './shape.js';

const FILTERABLE = { max: LIMITS.text };
const NAMING = { max: LIMITS.text, format: 'no-control-characters' };

export class AuditResourceDto {
  @Optional() @IsText(NAMING) id?: string;
  @Optional() @IsText(NAMING) name?: string;
  @Optional() @IsText(NAMING) type?: string;
  @Optional() @IsObject() data?: object;
}

/** Set by the service, whatever is sent. */
export class AuditPublisherDto {
  @Optional() @IsText() link?: string;
  @Optional() @IsText() keyId?: string;
  @Optional() @IsText() remoteIp?: string;
}

export class AuditContextDto {
  @Optional() @IsText() org?: string;
  @Optional() @IsText() name?: string;
  @Optional() @IsText() remoteIp?: string;
  @Optional() @IsText() eventSource?: string;
  @Optional() @IsText(FILTERABLE) location?: string;
  @Optional() @IsText(FILTERABLE) gvcAlias?: string;
  @Optional() @IsText(FILTERABLE) podId?: string;
  @Optional() @IsShape(() => AuditPublisherDto) publisher?: AuditPublisherDto;
  @Optional() @IsObject() data?: object;
}

export class AuditSubjectDto {
  @Optional() @IsText(FILTERABLE) email?: string;
  @Optional() @IsText() name?: string;
  @Optional() @IsObject() claims?: object;
  @Optional() @IsObject() data?: object;
}

export class AuditActionDto {
  @Optional() @IsText(FILTERABLE) type?: string;
  @Optional() @IsObject() data?: object;
}

export class AuditResultDto {
  @Optional() @IsText(FILTERABLE) status?: string;
  @Optional() @IsText() message?: string;
}

/** An audit event as a client sends it. What the service assigns may be there; it is replaced. */
export class AuditEventDto {
  @Satisfies({ anyOf: ['id', 'name'].map((name) => ({ required: [name], properties: { [name]: { minLength: 1 } } })) })
  @IsShape(() => AuditResourceDto)
  resource!: AuditResourceDto;

  @Optional() @IsText() id?: string;
  @Optional() @IsInstant() eventTime?: string;
  @Optional() @IsText() postedTime?: string;
  @Optional() @IsText() receivedTime?: string;
  @Optional() @IsText(FILTERABLE) requestId?: string;
  @Optional() @IsShape(() => AuditContextDto) context?: AuditContextDto;
  @Optional() @IsShape(() => AuditSubjectDto) subject?: AuditSubjectDto;
  @Optional() @IsShape(() => AuditActionDto) action?: AuditActionDto;
  @Optional() @IsShape(() => AuditResultDto) result?: AuditResultDto;
}
