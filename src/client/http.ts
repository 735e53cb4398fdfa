import type { Agent, IncomingHttpHeaders, IncomingMessage, request } from 'node:http';
import { createRequire } from 'node:module';

const nodePart = createRequire(import.meta.url);

const IDLE_TIMEOUT_MS = 60_000;
const LONGEST_ANSWER = 256 * 1024 * 1024;

export interface Exchange {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string | Uint8Array | undefined;
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
  /** Streams the response, of any length. */
  open(exchange: Exchange, signal: AbortSignal): Promise<IncomingMessage>;
  close(): void;
}

/** How requests of one protocol are made. */
interface Channel {
  agent: Agent;
  request: typeof request;
}

/**
 * Connections that are kept open between calls. Node's own `request` rather than `fetch`: it sends a path as it is
 * given (no normalising of dots or percent signs), and TLS checks are switched off for these calls only. Node's modules
 * are loaded with the first call, so that a program starts fast; with `require`, because an `import` reads each of their
 * exports, and with them loads Node's WebSocket: 20 ms.
 */
export function openConnections(insecure: boolean): Connections {
  const channels = new Map<string, Channel>();
  const openChannel = (protocol: string): Channel => {
    if (protocol !== 'https:') {
      const { Agent, request } = nodePart('node:http') as typeof import('node:http');
      return { agent: new Agent({ keepAlive: true }), request };
    }
    const { Agent, request } = nodePart('node:https') as typeof import('node:https');
    return { agent: new Agent({ keepAlive: true, rejectUnauthorized: !insecure }), request };
  };
  const open = async (exchange: Exchange, signal: AbortSignal) => {
    const { protocol } = new URL(exchange.url);
    const channel = channels.get(protocol) ?? openChannel(protocol);
    channels.set(protocol, channel);
    return openAnswer(exchange, signal, channel);
  };
  return {
    open,
    send: async (exchange, signal) => readAnswer(await open(exchange, signal)),
    close: () => {
      for (const { agent } of channels.values()) agent.destroy();
    },
  };
}

function openAnswer(exchange: Exchange, signal: AbortSignal, { agent, request }: Channel): Promise<IncomingMessage> {
  const { method, url, headers, body, idleMs = IDLE_TIMEOUT_MS } = exchange;
  const { protocol, hostname, port } = new URL(url);
  const path = url.slice(url.indexOf('/', `${protocol}//`.length));
  const options = { method, hostname: hostname.replace(/^\[|\]$/g, ''), port, path, headers, agent, signal };
  return new Promise((resolve, reject) => {
    const sent = request(options);
    sent.setTimeout(idleMs, () => {
      sent.destroy(Object.assign(new Error(`no answer for ${idleMs / 1000} s`), { code: 'ETIMEDOUT' }));
    });
    sent.on('error', reject);
    sent.on('response', resolve);
    sent.end(body);
  });
}

/** Rejects if the response is incomplete. */
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
