import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';

const IDLE_TIMEOUT_MS = 60_000;
const LONGEST_ANSWER = 256 * 1024 * 1024;

export interface Exchange {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string | undefined;
  /** How long the service may say nothing; default 60 s. */
  idleMs?: number | undefined;
}

export interface RawAnswer {
  status: number;
  reason: string;
  headers: IncomingHttpHeaders;
  text: string;
}

export interface Connections {
  send(exchange: Exchange, signal: AbortSignal): Promise<RawAnswer>;
  /** The answer as it comes in, of any length. */
  open(exchange: Exchange, signal: AbortSignal): Promise<IncomingMessage>;
  close(): void;
}

/**
 * Connections that are kept open between calls. Node's own `request` rather than `fetch`: it sends a path as it is
 * given (no normalising of dots or percent signs), and TLS checks are switched off for these calls only.
 */
export function openConnections(insecure: boolean): Connections {
  const plain = new HttpAgent({ keepAlive: true });
  const secure = new HttpsAgent({ keepAlive: true, rejectUnauthorized: !insecure });
  const open = (exchange: Exchange, signal: AbortSignal) =>
    openAnswer(exchange, signal, exchange.url.startsWith('https:') ? secure : plain);
  return {
    open,
    send: async (exchange, signal) => readAnswer(await open(exchange, signal)),
    close: () => {
      plain.destroy();
      secure.destroy();
    },
  };
}

function openAnswer(exchange: Exchange, signal: AbortSignal, agent: HttpAgent): Promise<IncomingMessage> {
  const { method, url, headers, body, idleMs = IDLE_TIMEOUT_MS } = exchange;
  const { protocol, hostname, port } = new URL(url);
  const path = url.slice(url.indexOf('/', `${protocol}//`.length));
  const options = { method, hostname: hostname.replace(/^\[|\]$/g, ''), port, path, headers, agent, signal };
  return new Promise((resolve, reject) => {
    const request = protocol === 'https:' ? httpsRequest(options) : httpRequest(options);
    request.setTimeout(idleMs, () => {
      request.destroy(Object.assign(new Error(`no answer for ${idleMs / 1000} s`), { code: 'ETIMEDOUT' }));
    });
    request.on('error', reject);
    request.on('response', resolve);
    request.end(body);
  });
}

/** Rejects for an answer that is not whole. */
export async function readAnswer(response: IncomingMessage): Promise<RawAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > LONGEST_ANSWER) throw new Error('the answer is larger than 256 MiB');
  }
  const { statusCode: status = 0, statusMessage: reason = '', headers } = response;
  return { status, reason, headers, text: Buffer.concat(chunks).toString('utf8') };
}
