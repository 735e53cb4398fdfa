import type { Event, Org, Refusal } from './api.js';

export interface IngestResult {
  readonly kind: 'ingestresult';
  readonly lines: number;
  readonly recorded: number;
  readonly repeated?: number;
  readonly unmapped: number;
  readonly firstUnmapped: readonly { readonly line: number; readonly reason: string }[];
}

interface Sending {
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly context?: string;
}

/** Sends a body of any type to `-ingest`. */
export async function ingest(
  org: Org,
  body: string | Uint8Array,
  { headers = {}, query = '', context = 'app' }: Sending = {},
): Promise<{ readonly status: number; readonly headers: Headers; readonly body: IngestResult & Refusal }> {
  const url = new URL(`${org.audit}/auditctx/${context}/-ingest${query}`, org.api.url);
  const response = await fetch(url, {
    method: 'POST',
    body: typeof body === 'string' ? body : new Uint8Array(body),
    headers: { authorization: `Bearer ${org.key}`, ...headers },
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as IngestResult & Refusal,
  };
}

/** What the events of one line that could not be mapped kept of it, in order. */
export function rawOf(events: readonly Event[]): Buffer {
  const pieces = events.map(({ resource }) => resource.data as { raw?: string; rawBase64?: string });
  return Buffer.concat(
    pieces.map(({ raw, rawBase64 = '' }) => (raw === undefined ? Buffer.from(rawBase64, 'base64') : Buffer.from(raw))),
  );
}
