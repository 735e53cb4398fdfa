import type { Agent, IncomingHttpHeaders, IncomingMessage } from 'node:http';
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

/**
 * Connections that are kept open between calls. Node's own `request` rather than `fetch`: it sends a path as it is
 * given (no normalising of dots or percent signs), and TLS checks are switched off for these calls only. Node's modules
 * are loaded with the first call, so that a program starts fast; with `require`, because an `import` reads each of their
 * exports, and with them loads Node's WebSocket: 20 ms.
 */
export class Connections {
  readonly #agents = new Map<string, Agent>();

  constructor(private readonly insecure: boolean) {}

  /** The response, whose body streams. */
  async open(exchange: Exchange, signal: AbortSignal): Promise<IncomingMessage> {
    const { method, url, headers, body, idleMs = IDLE_TIMEOUT_MS } = exchange;
    const { protocol, hostname, port } = new URL(url);
    const module = protocol === 'https:' ? 'node:https' : 'node:http';
    const { Agent, request } = nodePart(module) as typeof import('node:https');
    const agent = this.#agents.get(module) ?? new Agent({ keepAlive: true, rejectUnauthorized: !this.insecure });
    this.#agents.set(module, agent);
    const path = url.slice(url.indexOf('/', `${protocol}//`.length));
    const options = { method, hostname: hostname.replace(/^\[|\]$/g, ''), port, path, headers, agent, signal };
    return new Promise((resolve, reject) => {
      const sent = request(options).on('error', reject).on('response', resolve);
      const silent = () => Object.assign(new Error(`no answer for ${idleMs / 1000} s`), { code: 'ETIMEDOUT' });
      sent.setTimeout(idleMs, () => sent.destroy(silent())).end(body);
    });
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
  }
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
  return { ...headOf(response), text: Buffer.concat(chunks).toString('utf8') };
}

export function headOf({ statusCode: status = 0, statusMessage: reason = '', headers }: IncomingMessage): RawAnswer {
  return { status, reason, headers, text: '' };
}
