import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

type Script = (request: SeenRequest, response: ServerResponse, index: number) => void;

/** A service that says what a test tells it to: for what the real one can hardly be made to do. */
export interface ScriptedServer {
  readonly url: string;
  readonly seen: SeenRequest[];
}

const running: Server[] = [];

/** Ends all scripted servers of a test. */
export async function closeServers(): Promise<void> {
  await Promise.all(
    running.splice(0).map((server) => {
      server.closeAllConnections();
      return new Promise((closed) => server.close(closed));
    }),
  );
}

export async function scriptedServer(script: Script): Promise<ScriptedServer> {
  const seen: SeenRequest[] = [];
  const server: Server = createServer(async (message, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(chunk as Buffer);
    const { method = '', url = '', headers } = message;
    const request = { method, url, headers, body: Buffer.concat(chunks).toString('utf8') };
    seen.push(request);
    script(request, response, seen.length - 1);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  running.push(server);
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, seen };
}

export function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
}

/** What the service answers to a bulk request whose items are all fine. */
export function acceptBulk(request: SeenRequest, response: ServerResponse): void {
  const items = request.body
    .trimEnd()
    .split('\n')
    .map((_, index) => ({ index, status: 201, id: `id-${index}`, message: 'stored' }));
  answer(response, 200, { kind: 'bulkresult', items, succeeded: items.length, failed: 0 });
}

export const page = (items: readonly unknown[], next?: string) => ({
  kind: 'queryresult',
  itemKind: 'auditevent',
  items,
  query: { pageSize: '2' },
  links: [{ rel: 'self', href: '/audit/org/acme' }, ...(next ? [{ rel: 'next', href: next }] : [])],
});
