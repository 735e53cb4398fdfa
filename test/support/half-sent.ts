import { answersOn, openSocket, type RawAnswer } from '../hardening/raw-http.js';

export interface SentRequest {
  readonly method: string;
  readonly path: string;
  /** Sent as JSON; none with GET. */
  readonly body: unknown;
  readonly key: string;
  readonly requestId: string;
}

/** A request of which the service has only the beginning. */
export interface HalfSent {
  finish(): void;
  /** Undefined when the connection was closed, or nothing came in time. */
  readonly answer: Promise<RawAnswer | undefined>;
}

const ANSWER_MS = 60_000;

/** `part`: of the bytes of the whole request, from 0 to 1, or all but the rest of the body from its second byte on. */
export async function halfSend(url: string, request: SentRequest, part: number | 'first byte'): Promise<HalfSent> {
  const { head, body } = bytesOf(request);
  const bytes = Buffer.concat([head, body]);
  const most = bytes.length - 1;
  const at = part === 'first byte' ? Math.min(most, head.length + 1) : Math.max(1, Math.min(most, part * bytes.length));
  const socket = await openSocket(url);
  socket.write(bytes.subarray(0, at));
  const answered = answersOn(socket, 1, ANSWER_MS);
  const answer = answered.then(({ answers }) => {
    socket.destroy();
    return answers[0];
  });
  return { finish: () => socket.write(bytes.subarray(at)), answer };
}

function bytesOf({ method, path, body, key, requestId }: SentRequest): { head: Buffer; body: Buffer } {
  const text = method === 'GET' ? '' : JSON.stringify(body);
  const lines = [`${method} ${path} HTTP/1.1`, 'host: x', `authorization: Bearer ${key}`, `x-request-id: ${requestId}`];
  if (method !== 'GET') {
    lines.push('content-type: application/json', `content-length: ${Buffer.byteLength(text)}`);
  }
  return { head: Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body: Buffer.from(text) };
}
