import type { Observer } from '../../client/api-client.js';
import type { Terminal } from '../terminal.js';

/** Shows what the client does on standard error: with `verbose` a line a call, with `debug` all HTTP, keys masked. */
export function tracer(terminal: Terminal, { verbose, debug }: { verbose: boolean; debug: boolean }): Observer {
  return {
    request({ method, url, headers, body }) {
      if (!debug) return;
      const lines = [
        `> ${method} ${url}`,
        ...headerLines('>', headers),
        ...(body === undefined ? [] : [Buffer.from(body).toString().trimEnd()]),
      ];
      terminal.trace(lines.join('\n'));
    },
    answer({ status, reason, headers, text }, { method, url }, ms) {
      if (debug) terminal.trace([`< ${status} ${reason}`, ...headerLines('<', headers), text.trimEnd()].join('\n'));
      if (!verbose || ms === undefined) return;
      terminal.trace(`${method} ${url}: ${status}, ${Math.round(ms)} ms, request ${headers['x-request-id'] ?? '?'}`);
    },
    retry(error, waitMs) {
      if (verbose) terminal.trace(`${error.message}; again in ${Math.ceil(waitMs)} ms`);
    },
  };
}

const headerLines = (mark: string, headers: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(headers).map(
    ([name, value]) => `${mark} ${name}: ${name === 'authorization' ? '***' : String(value)}`,
  );
