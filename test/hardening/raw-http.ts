import { connect, type Socket } from 'node:net';

/** An answer as it came over the socket; undefined fields of an answer that never came. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
}

export interface RawEnd {
  readonly answers: readonly RawAnswer[];
  /** `closed`: the service ended the connection; `idle`: it had not when the time was over. */
  readonly end: 'closed' | 'idle';
  readonly ms: number;
}

export function openSocket(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      // A reset is an end like any other here.
      socket.on('error', () => undefined);
      resolve(socket);
    });
  });
}

/**
 * Sends bytes that need not be HTTP, and reads until `wanted` answers came, the service ended the connection, or the
 * time is over.
 */
export async function sendRaw(
  url: string,
  bytes: Uint8Array | string,
  wanted = 1,
  timeoutMs = 10_000,
): Promise<RawEnd> {
  const socket = await openSocket(url);
  socket.write(bytes);
  const end = await answersOn(socket, wanted, timeoutMs);
  socket.destroy();
  return end;
}

export function answersOn(socket: Socket, wanted: number, timeoutMs: number): Promise<RawEnd> {
  const began = Date.now();
  let received = Buffer.alloc(0);
  return new Promise((resolve) => {
    const done = (end: RawEnd['end']) => {
      clearTimeout(timer);
      socket.removeAllListeners('data');
      resolve({ answers: parseAnswers(received), end, ms: Date.now() - began });
    };
    const timer = setTimeout(() => done('idle'), timeoutMs);
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (parseAnswers(received).length >= wanted) done('idle');
    });
    socket.once('end', () => done('closed'));
    socket.once('close', () => done('closed'));
  });
}

/** The whole answers in what was received; this service always says their length. */
function parseAnswers(received: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let at = 0; at < received.length; ) {
    const end = received.indexOf('\r\n\r\n', at);
    if (end < 0) break;
    const [statusLine = '', ...lines] = received.toString('latin1', at, end).split('\r\n');
    const headers = new Map(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    );
    const length = Number(headers.get('content-length') ?? 0);
    if (received.length < end + 4 + length) break;
    answers.push({
      status: Number(statusLine.split(' ')[1]),
      headers,
      text: received.toString('utf8', end + 4, end + 4 + length),
    });
    at = end + 4 + length;
  }
  return answers;
}

/** Why the answer is not the Error body of a refusal of the caller, or undefined. */
export function notARefusal({ status, headers, text }: RawAnswer): string | undefined {
  if (status < 400 || status > 499) return `status ${status}`;
  if (!headers.get('content-type')?.startsWith('application/json'))
    return `content type ${headers.get('content-type')}`;
  return notAnErrorBody(text, status);
}

export function notAnErrorBody(text: string, status: number): string | undefined {
  let body: Record<string, unknown>;
  try {
    body = JSON.parse(text);
  } catch {
    return `not JSON: ${text.slice(0, 100)}`;
  }
  const sound =
    body['status'] === status &&
    typeof body['message'] === 'string' &&
    /^[a-z_]+$/.test(String(body['code'])) &&
    typeof body['details'] === 'object' &&
    typeof body['id'] === 'string' &&
    Object.keys(body).length === 5;
  return sound ? undefined : `not the Error body: ${text.slice(0, 200)}`;
}
