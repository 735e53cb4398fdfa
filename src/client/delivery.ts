import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { type ApiClient, retryDelay } from './api-client.js';
import type { NewAuditEvent } from './api-types.js';
import { publishBulk } from './bulk.js';
import { ApiError, type ErrorBody } from './errors.js';
import { withoutTime } from './recorded-line.js';
import type { Batch, Spool } from './spool.js';

/** An event that the service will never take, as it is in the file of refused events. */
export type Refusal = {
  readonly refusedAt: string;
  /** The path of the audit context. */
  readonly target: string;
  readonly error: ErrorBody;
} & (
  | { readonly event: NewAuditEvent; readonly idempotencyKey: string; readonly raw?: undefined }
  /** The disk altered the record, and `raw` is what was found. */
  | { readonly event?: undefined; readonly idempotencyKey?: undefined; readonly raw: string }
);

/** What a callback throws becomes a warning of the process; the delivery goes on. */
export interface DeliveryHooks {
  /** Told of each event that is refused for good, after it was written to `refused.jsonl`. After a crash it may be told again. */
  onRefused?(refusal: Refusal): void;
  /** Told of each failed attempt. It is repeated until it succeeds, longer apart each time. */
  onError?(error: Error): void;
}

const LONGEST_WAIT_MS = 60_000;
/** Refusals that concern the caller or the moment, not the event. */
const NOT_FOR_GOOD = new Set([401, 403, 404, 407, 408, 425, 429]);

const isForGood = ({ status }: ErrorBody): boolean => status >= 400 && status < 500 && !NOT_FOR_GOOD.has(status);

/** Publishes what the spool has, in order, until the spool is stopped. The timer of a wait does not keep the process. */
export async function deliver(
  client: ApiClient,
  spool: Spool,
  hooks: DeliveryHooks,
  signal: AbortSignal,
): Promise<void> {
  let batch: Batch | undefined;
  for (let attempt = 0; !signal.aborted; attempt++) {
    try {
      batch ??= await spool.next();
      if (!batch) return;
      const { left, reason, refused } = await send(client, batch);
      if (refused.length > 0) await spool.refuse(refused);
      batch = { ...batch, lines: left, damaged: [] };
      if (left.length === 0) {
        spool.settle(batch);
        batch = undefined;
      }
      for (const line of refused) tell(() => hooks.onRefused?.(JSON.parse(line) as Refusal));
      if (reason) throw new ApiError(reason);
      attempt = -1;
    } catch (error) {
      if (signal.aborted) return;
      tell(() => hooks.onError?.(error as Error));
      const asked = error instanceof ApiError ? error.retryAfterMs : undefined;
      const wait = Math.min(LONGEST_WAIT_MS, retryDelay(attempt, asked));
      await sleep(wait, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}

/** Publishes a batch. Returns the lines that are still to be sent, with the reason of the first to wait for, and the refusals. */
async function send(client: ApiClient, { target, lines, damaged }: Batch) {
  const outcomes = lines.length > 0 ? await publishBulk(client, `${target}/-bulk?async=true`, lines, 'never') : [];
  const refused = damaged.map((line) => refusal(target, DAMAGED, `"raw":${JSON.stringify(line.toString())}}`));
  const left: Buffer[] = [];
  let reason: ErrorBody | undefined;
  for (const [index, line] of lines.entries()) {
    const { error } = outcomes[index] as { error?: ErrorBody };
    if (!error) continue;
    // The clock of this host may be wrong: the event gets the time of its arrival.
    const untimed = isAboutTime(error) ? withoutTime(line) : undefined;
    if (untimed) left.push(untimed);
    else if (isForGood(error)) refused.push(refusal(target, error, line.toString().trimEnd().slice(1)));
    else {
      left.push(line);
      reason ??= error;
    }
  }
  return { left, reason, refused };
}

const isAboutTime = ({ details }: ErrorBody): boolean =>
  details?.fields?.some(({ pointer }) => pointer === '/event/eventTime') ?? false;

function tell(callback: () => unknown): void {
  const failed = (error: unknown) => process.emitWarning(`a callback of the audit client failed: ${inspect(error)}`);
  (async () => callback())().catch(failed);
}

const DAMAGED: ErrorBody = { status: 0, code: 'damaged', message: 'the disk has altered this record of the spool' };

const refusal = (target: string, error: ErrorBody, members: string): string =>
  `${JSON.stringify({ refusedAt: new Date().toISOString(), target, error }).slice(0, -1)},${members}`;
