import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';

const IDLE_TIMEOUT_MS = 60_000;
const LONGEST_ANSWER = 256 * 1024 * 1024;

export interface Exchange {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string | undefined;
}

export interface RawAnswer {
  status: number;
  reason: string;
  headers: IncomingHttpHeaders;
  text: string;
}

export interface Connections {
  send(exchange: Exchange, signal: AbortSignal): Promise<RawAnswer>;
  close(): void;
}

/**
 * Connections that are kept open between calls. Node's own `request` rather than `fetch`: it sends a path as it is
 * given (no normalising of dots or percent signs), and TLS checks are switched off for these calls only.
 */
export function openConnections(insecure: boolean): Connections {
  const plain = new HttpAgent({ keepAlive: true });
  const secure = new HttpsAgent({ keepAlive: true, rejectUnauthorized: !insecure });
  return {
    send: (exchange, signal) => send(exchange, signal, exchange.url.startsWith('https:') ? secure : plain),
    close: () => {
      plain.destroy();
      secure.destroy();
    },
  };
}

function send(exchange: Exchange, signal: AbortSignal, agent: HttpAgent): Promise<RawAnswer> {
  const { method, url, headers, body } = exchange;
  const { protocol, hostname, port } = new URL(url);
  const path = url.slice(url.indexOf('/', `${protocol}//`.length));
  const options = { method, hostname: hostname.replace(/^\[|\]$/g, ''), port, path, headers, agent, signal };
  return new Promise((resolve, reject) => {
    const request = protocol === 'https:' ? httpsRequest(options) : httpRequest(options);
    request.setTimeout(IDLE_TIMEOUT_MS, () => {
      request.destroy(Object.assign(new Error(`no answer for ${IDLE_TIMEOUT_MS / 1000} s`), { code: 'ETIMEDOUT' }));
    });
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        size += chunk.length;
        if (size > LONGEST_ANSWER) request.destroy(new Error('the answer is larger than 256 MiB'));
      });
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({
          status: response.statusCode ?? 0,
          reason: response.statusMessage ?? '',
          headers: response.headers,
          text,
        });
      });
    });
    request.end(body);
  });
}
