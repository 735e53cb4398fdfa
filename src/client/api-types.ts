// Generated from `docs/openapi.json` by `npm run docs`; do not edit.

/** What one event may have at most, as JSON. */
export const MAX_EVENT_BYTES = 262144;

/** An event as it is published. */
export type NewAuditEvent = AuditEventDto;

/** An event as the service returns it. */
export type RecordedEvent = AuditEvent;

/** Filters of lists: exact matches, which combine with AND. */
export interface EventFilters {
  /** Only events with this `eventTime` or a later one. */
  readonly fromEvent?: string | undefined;
  /** Only events with an earlier `eventTime`. */
  readonly toEvent?: string | undefined;
  /** Only events of this audit context. */
  readonly contextName?: string | undefined;
  /** Only events of the resource with this identifier. */
  readonly resourceId?: string | undefined;
  /** Only events of resources with this name. */
  readonly resourceName?: string | undefined;
  /** Only events of resources of this type. */
  readonly resourceType?: string | undefined;
  /** Only events with this `context.location`. */
  readonly location?: string | undefined;
  /** Only events with this `context.gvcAlias`. */
  readonly gvcAlias?: string | undefined;
  /** Only events with this `context.podId`. */
  readonly podId?: string | undefined;
  /** Only events that this user or service account published, by its link. */
  readonly publisher?: string | undefined;
  /** Only events with this `action.type`. */
  readonly actionType?: string | undefined;
  /** Only events with this `subject.email`. */
  readonly subjectEmail?: string | undefined;
  /** Only events with this `requestId`. */
  readonly requestId?: string | undefined;
  /** Only events with this `result.status`. */
  readonly resultStatus?: string | undefined;
  /** Only events whose `id` is a UUID that ends with these 8, 10 or 12 hexadecimal digits, in small letters. */
  readonly idEnding?: string | undefined;
}

type AuditActionDto = {
  /** What was done. */
  readonly type?: string | undefined;
  /** Anything else about what was done. */
  readonly data?: Readonly<Record<string, unknown>> | undefined;
};

type AuditContextDto = {
  /** Name of the organization; set by the service. */
  readonly org?: string | undefined;
  /** Name of the audit context; set by the service. */
  readonly name?: string | undefined;
  /** Address that it was done from; the address of the publisher if left out. */
  readonly remoteIp?: string | undefined;
  /** Program that reports the event. */
  readonly eventSource?: string | undefined;
  /** Where it happened. */
  readonly location?: string | undefined;
  /** Alias of the GVC where it happened. */
  readonly gvcAlias?: string | undefined;
  /** Pod that reports the event. */
  readonly podId?: string | undefined;
  /** Who published the event; set by the service. */
  readonly publisher?: AuditPublisherDto | undefined;
  /** Anything else about where it happened. */
  readonly data?: Readonly<Record<string, unknown>> | undefined;
};

type AuditEvent = {
  /** What it was done to. */
  readonly resource: AuditResourceDto;
  /** Identifier of the event. */
  readonly id: string;
  /** When it happened. */
  readonly eventTime: string;
  /** `eventTime` as it was sent, if that is finer than a millisecond; set by the service. */
  readonly eventTimeSent?: string | undefined;
  /** When the service accepted the event. */
  readonly postedTime: string;
  /** When the log recorded the event. */
  readonly receivedTime: string;
  /** Identifier of the request that caused it; that of the publish if left out. */
  readonly requestId: string;
  /** Where it happened. */
  readonly context: AuditContextDto;
  /** Who did it; the publisher if left out. */
  readonly subject: AuditSubjectDto;
  /** What was done. */
  readonly action?: AuditActionDto | undefined;
  /** How it ended. */
  readonly result?: AuditResultDto | undefined;
};

type AuditEventDto = {
  /** What it was done to. */
  readonly resource: AuditResourceDto;
  /** Identifier of the event; set by the service. */
  readonly id?: string | undefined;
  /** When it happened; when the request came if left out. */
  readonly eventTime?: string | undefined;
  /** `eventTime` as it was sent, if that is finer than a millisecond; set by the service. */
  readonly eventTimeSent?: string | undefined;
  /** When the service accepted the event; set by the service. */
  readonly postedTime?: string | undefined;
  /** When the log recorded the event; set by the service. */
  readonly receivedTime?: string | undefined;
  /** Identifier of the request that caused it; that of the publish if left out. */
  readonly requestId?: string | undefined;
  /** Where it happened. */
  readonly context?: AuditContextDto | undefined;
  /** Who did it; the publisher if left out. */
  readonly subject?: AuditSubjectDto | undefined;
  /** What was done. */
  readonly action?: AuditActionDto | undefined;
  /** How it ended. */
  readonly result?: AuditResultDto | undefined;
};

type AuditPublisherDto = {
  /** Link of the user or service account that published. */
  readonly link?: string | undefined;
  /** Identifier of the key that it used. */
  readonly keyId?: string | undefined;
  /** Address that the request came from. */
  readonly remoteIp?: string | undefined;
};

type AuditResourceDto = {
  /** Identifier of the resource. It or the name is required. */
  readonly id?: string | undefined;
  /** Name of the resource; may hold slashes. */
  readonly name?: string | undefined;
  /** Type of the resource. */
  readonly type?: string | undefined;
  /** Anything else about the resource. */
  readonly data?: Readonly<Record<string, unknown>> | undefined;
};

type AuditResultDto = {
  /** How it ended. */
  readonly status?: string | undefined;
  /** How it ended, in words. */
  readonly message?: string | undefined;
};

type AuditSubjectDto = {
  /** E-mail address of who did it. */
  readonly email?: string | undefined;
  /** Name of who did it. */
  readonly name?: string | undefined;
  /** Claims of the token of who did it. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
  /** Anything else about who did it. */
  readonly data?: Readonly<Record<string, unknown>> | undefined;
};
