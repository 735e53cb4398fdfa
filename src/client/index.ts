export type { EventFilters, NewAuditEvent, RecordedEvent } from './api-types.js';
export { AuditClient, type AuditOptions, type PublishOptions } from './audit-client.js';
export type { DeliveryHooks, Refusal } from './delivery.js';
export {
  ApiError,
  ClientError,
  ConnectionError,
  type ConnectionFault,
  type ErrorBody,
  Interrupted,
  SpoolError,
  type SpoolFault,
} from './errors.js';
export type { SpoolOptions } from './spool.js';
export type { Tail, TailOptions } from './tail.js';
