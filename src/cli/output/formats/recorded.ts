import { members } from '../../../contract/json-text.js';
import { objectText } from '../json-layout.js';

/** The part of a recorded event that other formats have a place for. Events of others may have anything anywhere. */
export interface Recorded {
  readonly id?: unknown;
  readonly eventTime?: unknown;
  readonly postedTime?: unknown;
  readonly receivedTime?: unknown;
  readonly requestId?: unknown;
  readonly context?: {
    readonly org?: unknown;
    readonly name?: unknown;
    readonly remoteIp?: unknown;
    readonly eventSource?: unknown;
    readonly location?: unknown;
    readonly gvcAlias?: unknown;
    readonly podId?: unknown;
    readonly publisher?: { readonly link?: unknown; readonly keyId?: unknown };
  };
  readonly subject?: { readonly name?: unknown; readonly email?: unknown };
  readonly action?: { readonly type?: unknown };
  readonly result?: { readonly status?: unknown; readonly message?: unknown };
  readonly resource?: { readonly id?: unknown; readonly name?: unknown; readonly type?: unknown };
}

const GOOD = new Set(['OK', 'SUCCESS', 'ALLOWED']);
const BAD = new Set(['DENIED', 'ERROR', 'FAILED', 'FAILURE']);

/** How it ended, as far as the status is one of those that are known. */
export function outcomeOf({ result }: Recorded): 'success' | 'failure' | 'unknown' {
  const status = String(result?.status ?? '').toUpperCase();
  if (GOOD.has(status)) return 'success';
  return BAD.has(status) ? 'failure' : 'unknown';
}

/** The link of who published the event; of the root key, which has none, its identifier. */
export function publisherOf({ context }: Recorded): unknown {
  return context?.publisher?.link ?? context?.publisher?.keyId;
}

/** What a mapping leaves of an object: the members that it does not take, as JSON text. Undefined if nothing is left. */
export function restOf(raw: string | undefined, taken: readonly string[]): string | undefined {
  if (!raw?.startsWith('{')) return raw;
  const left = members(raw).filter(({ name }) => !taken.includes(name));
  return left.length === 0 ? undefined : objectText(left);
}

/** A JSON object of the values that are there. `json` are JSON texts, taken as they are: numbers stay as they were sent. */
export function jsonObject(values: object, json: Readonly<Record<string, string | undefined>> = {}): string {
  const present = (value: unknown) => value !== undefined && value !== null && value !== '';
  return objectText([
    ...Object.entries(values)
      .filter(([, value]) => present(value))
      .map(([name, value]) => ({ name, raw: JSON.stringify(value) })),
    ...Object.entries(json).flatMap(([name, raw]) => (raw === undefined ? [] : [{ name, raw }])),
  ]);
}
