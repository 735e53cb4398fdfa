import type { Logger } from 'pino';
import type { Caller } from '../control/fold.js';
import { cutTo } from '../platform/text.js';
import type { SecurityEvents } from './security-events.js';

/** In bytes of JSON: enough to identify the request, small enough for a record. */
const LONGEST_FILTER = 200;

/** At most this many names of contexts are recorded. */
const MOST_CONTEXTS = 50;

export interface ExportRequest {
  readonly org: string;
  /** Query parameters as they came. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The contexts that the caller may read; undefined: all. */
  readonly contexts: readonly string[] | undefined;
}

/** An export that has been recorded as begun. */
export interface ExportRecord {
  /** Never rejects: the data is gone already. */
  end(outcome: { readonly whole: boolean; readonly count: number }): Promise<void>;
}

/** Records that an export begins; rejects if the log does not take that, and then nothing may be exported. */
export async function beginExport(
  security: SecurityEvents,
  by: Caller,
  { org, parameters, contexts }: ExportRequest,
  logger: Logger,
): Promise<ExportRecord> {
  const { cursor, ...filters } = parameters;
  const exported = await security.record(by, org, 'export', {
    filters: Object.fromEntries(Object.entries(filters).map(([name, value]) => [name, cutTo(LONGEST_FILTER, value)])),
    isContinued: cursor !== undefined,
    ...(contexts && { contexts: contexts.slice(0, MOST_CONTEXTS), contextCount: contexts.length }),
  });
  return {
    async end(outcome) {
      try {
        await security.record(by, org, 'end-export', { export: exported, ...outcome });
      } catch (err) {
        logger.warn({ err, org, export: exported, ...outcome }, 'the end of an export could not be recorded');
      }
    },
  };
}
