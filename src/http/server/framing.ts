import type { FastifyRequest } from 'fastify';
import { ControlError, validationFailed } from '../../contract/errors.js';

/**
 * Why two servers could read a request differently, or undefined. It may hide a second request, so its connection is
 * closed after the response (RFC 9112, 3.2 and 6.1).
 */
export function ambiguousFraming({ raw }: FastifyRequest): ControlError | undefined {
  const { rawHeaders, httpVersion, headers } = raw;
  let [hosts, keys] = [0, 0];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
    if (name?.length === 13 && name.toLowerCase() === 'authorization') keys += 1;
  }
  if (hosts > 1) return fault('host', 'was sent more than once; send it once');
  if (keys > 1) return fault('authorization', 'was sent more than once; send one key');
  if (httpVersion === '1.0') {
    if (headers['transfer-encoding'] === undefined) return undefined;
    return fault('transfer-encoding', 'is not allowed in HTTP/1.0; send Content-Length, or use HTTP/1.1');
  }
  return hosts === 0 ? fault('host', 'is missing; HTTP/1.1 requires it') : undefined;
}

function fault(header: string, reason: string): ControlError {
  return validationFailed([{ pointer: `header:${header}`, reason }]);
}

const PARAMETER = /;\s*([^=;\s]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]*))/g;

/** Refuses text in anything but UTF-8, which would be read as something else than was meant, unless the route takes any. */
export function refusedCharset({ headers, routeOptions }: FastifyRequest): ControlError | undefined {
  const type = headers['content-type'];
  if (routeOptions.config.packed || type === undefined || !type.includes(';')) return undefined;
  for (const [, name = '', quoted, plain] of type.matchAll(PARAMETER)) {
    if (name.toLowerCase() !== 'charset' || /^utf-?8$/i.test(quoted ?? plain ?? '')) continue;
    return new ControlError('unsupported_media_type', 'the body must be UTF-8; send charset=utf-8, or no charset');
  }
  return undefined;
}
