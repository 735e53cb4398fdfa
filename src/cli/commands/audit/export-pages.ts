import type { ApiClient } from '../../../client/api-client.js';
import { oneLine } from '../../../client/json-text.js';
import { nextOf, readPage } from '../../../client/pages.js';

/** Where an export goes, line by line. */
export interface ExportTarget {
  /** Events written, those of an earlier run included. */
  readonly count: number;
  /** Where an earlier run stopped. */
  readonly next: string | undefined;
  /** Takes the next events; `next` is where to go on behind them. */
  write(lines: readonly string[], next: string | undefined): Promise<void>;
  /** The export has come to its end. */
  complete(): Promise<void>;
  /** The export broke off: keeps what is needed to go on. */
  keep(): Promise<void>;
}

export interface Export {
  client: ApiClient;
  target: ExportTarget;
  start: string;
  limit: number;
  progress(count: number): void;
  /** Whether nobody wants more. */
  stopped(): boolean;
}

/** Passes all events on, page by page, until there are no more. What fails for a moment is asked for again. */
export async function exportEvents({ client, target, start, limit, progress, stopped }: Export): Promise<void> {
  let at: string | undefined = target.next ?? start;
  while (at !== undefined && target.count < limit && !stopped()) {
    const page = await readPage(client, at, { retry: 'patient' });
    const next = nextOf(page, at);
    await target.write(page.items.slice(0, limit - target.count).map(oneLine), next);
    progress(target.count);
    at = next;
  }
}
