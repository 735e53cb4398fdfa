import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionError } from 'fastify';
import type { ControlError } from '../../contract/errors.js';
import type { Ids } from '../../platform/ids.js';
import { errorBody, errorHeaders, toControlError } from '../errors/body.js';

/** How long a client may take to close its side after the last answer. One that never does would keep a descriptor. */
const LINGER_MS = 1_000;

/** Answers what is not HTTP, or was not whole in time, before there is a request that could be answered. */
export function refuseUnparsed(error: ConnectionError, socket: Socket, ids: Ids): void {
  // Other faults come from the connection or its TLS, so no client could read a response.
  if (!/^(HPE|ERR_HTTP)_/.test(error.code) || !socket.writable) {
    socket.destroy();
    return;
  }
  const pending = pendingAnswer(socket);
  // Sent before a pending response, the refusal would be taken for that response.
  if (pending) pending.once('close', () => refuseConnection(error, socket, ids));
  else refuseConnection(error, socket, ids);
}

function refuseConnection(error: ConnectionError, socket: Socket, ids: Ids): void {
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
  const refusal = toControlError(Object.assign(new Error('not a request'), { statusCode: status }));
  socket.end(rawRefusal(refusal, ids.next()));
  const cut = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(cut));
}

/** The complete response as bytes on the wire; it closes the connection. */
export function rawRefusal(refusal: ControlError, id: string): string {
  const body = errorBody(refusal, id);
  const text = JSON.stringify(body);
  const headers = {
    ...errorHeaders(refusal),
    'x-request-id': id,
    'content-length': Buffer.byteLength(text),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${body.status} ${STATUS_CODES[body.status]}\r\n${lines.join('')}\r\n${text}`;
}

/**
 * The pending response to an earlier, complete request on the connection. Node keeps it only in an
 * undocumented field.
 */
function pendingAnswer(socket: Socket & { _httpMessage?: ServerResponse | null }): ServerResponse | undefined {
  const answer = socket._httpMessage;
  return answer?.req.complete && !answer.writableFinished ? answer : undefined;
}
