import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { FastifyRequest } from 'fastify';
import { ControlError } from '../../contract/errors.js';
import type { ErrorBody, RefusalAs } from './body.js';
import { STATUSES } from './statuses.js';

const PROTOBUF = 'application/x-protobuf';
const JSON_TYPE = 'application/json';

/** `google.rpc.Code` by HTTP status. */
const CODES: Readonly<Record<number, number>> = { 401: 16, 403: 7, 404: 5, 413: 8, 429: 8, 503: 14 };
const INVALID_ARGUMENT = 3;

const UNAVAILABLE = STATUSES.log_unavailable;

/** Whether the request, and with it its response, is in protobuf; in JSON otherwise. Throws `unsupported_media_type`. */
export function isProtobuf(request: FastifyRequest): boolean {
  const type = typeOf(request);
  if (type === PROTOBUF || type === JSON_TYPE) return type === PROTOBUF;
  throw new ControlError('unsupported_media_type', `send OTLP logs with Content-Type: ${PROTOBUF} or ${JSON_TYPE}`);
}

/**
 * A refusal as OTLP has it: a `google.rpc.Status` in the format of the request. An exporter drops what is refused with a
 * status other than 429, 502, 503 and 504, so whatever may succeed later gets 503.
 */
export const otlpRefusal: RefusalAs = (error, request) => {
  const mayRetry = error.status >= 500 || error.code === 'request_timeout';
  const status = mayRetry ? UNAVAILABLE : error.status;
  const isBinary = typeOf(request) === PROTOBUF;
  return {
    status,
    headers: { ...otlpHeaders(isBinary), ...(error.status !== status && { 'retry-after': '1' }) },
    body: (isBinary ? binary : text)(CODES[status] ?? INVALID_ARGUMENT, error),
  };
};

export function otlpHeaders(isBinary: boolean): { readonly 'content-type': string } {
  return { 'content-type': isBinary ? PROTOBUF : JSON_TYPE };
}

function text(code: number, { message }: ErrorBody): string {
  return JSON.stringify({ code, message });
}

function binary(code: number, { message }: ErrorBody): Buffer {
  const { Varint, LengthDelimited } = WireType;
  return Buffer.from(new BinaryWriter().tag(1, Varint).int32(code).tag(2, LengthDelimited).string(message).finish());
}

/** As it was sent: a route that unpacks bodies itself changes the header. */
function typeOf({ headers, sentType }: FastifyRequest): string | undefined {
  return (sentType || headers['content-type'])?.split(';')[0]?.trim().toLowerCase();
}
