import { isUtf8 } from 'node:buffer';
import type { FastifyRequest } from 'fastify';
import { ControlError, type FieldFault, validationFailed } from '../../contract/errors.js';
import { SERVICE_CONTEXT } from '../../contract/kinds.js';
import { LIMITS } from '../../contract/limits.js';
import { CONTEXT_NAME_PATTERN } from '../../model/audit-event.js';
import { characters, escapePointer } from '../../platform/text.js';
import { exactNumbers, type JsonDocument } from '../json/parse.js';

/** Checks query parameters against their shape: `?name` in place of a JSON pointer. Throws `validation_failed`. */
export function checkQuery<Shape extends object>(
  faultsOf: (value: unknown) => FieldFault[],
  { query, url }: { readonly query: unknown; readonly url: string },
): Shape {
  refuseBadEncoding(url);
  const parameters: Record<string, unknown> = { ...(query as object) };
  const faults = faultsOf(parameters).map(({ pointer, reason }) => {
    const name = pointer.slice(1).split('/')[0] ?? '';
    return { pointer: `?${name}`, reason: Array.isArray(parameters[name]) ? 'must be given only once' : reason };
  });
  if (faults.length > 0) throw validationFailed(faults);
  return query as Shape;
}

/** The shape of a query without parameters. */
export const noParameters = (query: unknown): FieldFault[] =>
  Object.keys(query as object).map((name) => ({ pointer: `/${name}`, reason: 'is not a known parameter; remove it' }));

/** The framework passes on what it cannot decode as it is: a filter would silently mean another text. */
function refuseBadEncoding(url: string): void {
  const start = url.indexOf('?');
  if (start < 0 || !url.includes('%', start)) return;
  try {
    decodeURIComponent(url.slice(start + 1));
  } catch {
    throw validationFailed([{ pointer: '?', reason: 'is not valid percent-encoded UTF-8' }]);
  }
}

/** Checks a body that has no free-form part. Throws `validation_failed`. */
export function checkBody<Shape extends object>(faultsOf: (value: unknown) => FieldFault[], body: unknown): Shape {
  if (!isDocument(body))
    throw new ControlError('unsupported_media_type', 'send a JSON body with Content-Type: application/json');
  const unkept = body.exact ? exactNumbers(body.value) : [];
  const faults = [...unkept.map(unkeptNumber), ...faultsOf(body.value)];
  if (faults.length > 0) throw validationFailed(faults);
  return body.value as Shape;
}

/** As `checkBody`; a missing body counts as `{}`. */
export function checkOptionalBody<Shape extends object>(
  faultsOf: (value: unknown) => FieldFault[],
  body: unknown,
): Shape | Record<string, never> {
  return body === undefined || body === null ? {} : checkBody<Shape>(faultsOf, body);
}

/** The shape of a body that says nothing. */
export const noMembers = (value: unknown): FieldFault[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.keys(value).map((name) => ({
        pointer: `/${escapePointer(name)}`,
        reason: 'is not a known field; remove it',
      }))
    : [{ pointer: '', reason: 'must be an object' }];

export function isDocument(body: unknown): body is JsonDocument {
  return typeof body === 'object' && body !== null && 'value' in body && 'exact' in body;
}

export function unkeptNumber(pointer: string): FieldFault {
  return { pointer, reason: 'is a number that cannot be stored exactly; send it as a string' };
}

const CONTEXT_NAME = new RegExp(CONTEXT_NAME_PATTERN);

/** Throws `validation_failed` for a context name that cannot be. */
export function checkContextName(name: string): void {
  if (!CONTEXT_NAME.test(name)) {
    throw validationFailed([{ pointer: 'path:contextName', reason: `must match ${CONTEXT_NAME_PATTERN}` }]);
  }
}

/** As `checkContextName`; throws `forbidden` for the service's own, and for names that read like it. */
export function checkContext(name: string): void {
  checkContextName(name);
  if (name === SERVICE_CONTEXT) {
    throw new ControlError('forbidden', `the context ${SERVICE_CONTEXT} can be written only by the service`);
  }
  if (isLikeServiceContext(name)) throw likeServiceContext(name);
}

/** Whether people could take it for the service's own context. Events may be recorded under such a name from earlier. */
export function isLikeServiceContext(name: string): boolean {
  return name !== SERVICE_CONTEXT && name.toLowerCase() === SERVICE_CONTEXT;
}

export function likeServiceContext(name: string): ControlError {
  const reason = `reads like ${SERVICE_CONTEXT}, which only the service writes; use another name`;
  return new ControlError('forbidden', `the context ${name} ${reason}`);
}

/** The `Idempotency-Key` header, or undefined. Throws `validation_failed`. */
export function checkIdempotencyKey(request: FastifyRequest): string | undefined {
  // Most have none, and to list all headers one by one takes as long as to check an event.
  if (request.headers['idempotency-key'] === undefined) return undefined;
  const keys = request.raw.headersDistinct['idempotency-key'] ?? [];
  const [key = ''] = keys.map(inUtf8);
  const fault = keys.length > 1 ? 'must be given only once' : idempotencyKeyFault(key);
  if (fault) throw validationFailed([{ pointer: 'header:Idempotency-Key', reason: fault }]);
  return key;
}

/** Node reads the bytes of headers as Latin-1; clients write UTF-8. */
function inUtf8(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : value;
}

export function idempotencyKeyFault(key: unknown): string | undefined {
  if (typeof key !== 'string') return 'must be a string';
  const isSound = key !== '' && characters(key) <= LIMITS.idempotencyKey;
  return isSound ? undefined : `must have 1 to ${LIMITS.idempotencyKey} characters`;
}
