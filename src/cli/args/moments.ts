import { isWholeNumber, LIMITS } from '../../contract/limits.js';
import { UsageError } from '../output/failures.js';

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** What a timer of Node takes. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Milliseconds of a span such as `7d`, `90m` or `1h30m`. */
function parseDuration(option: string, span: string): number {
  const parts = span.match(/\d+(?:ms|[smhdw])/g) ?? [];
  if (parts.length === 0 || parts.join('') !== span) {
    throw new UsageError(`${option} is a span such as 7d, 12h or 1h30m, not \`${span}\``);
  }
  return parts.reduce((sum, part) => sum + Number.parseInt(part, 10) * (UNIT_MS[part.replace(/\d+/, '')] ?? 0), 0);
}

/** Milliseconds of a span that something may take at most; it is not empty. */
export function timeSpan(option: string, span: string): number {
  const ms = parseDuration(option, span);
  if (ms > 0 && ms <= LONGEST_TIMER_MS) return ms;
  throw new UsageError(`${option} is a span from 1ms to 24d, not \`${span}\``);
}

/** The time so far back, in ISO 8601. */
export function ago(option: string, span: string): string {
  const time = new Date(Date.now() - parseDuration(option, span));
  if (Number.isNaN(time.getTime()) || time.getTime() < Date.UTC(1, 0))
    throw new UsageError(`${option} \`${span}\` is too long ago`);
  return time.toISOString();
}

/** The time so far ahead. */
export function ahead(option: string, span: string): string {
  const time = new Date(Date.now() + parseDuration(option, span));
  if (Number.isNaN(time.getTime()) || time.getUTCFullYear() > 9999)
    throw new UsageError(`${option} \`${span}\` is too far ahead`);
  return time.toISOString();
}

/** What `--since` and `--until` of every command take. */
export const SINCE = 'start time: a span back from now such as 7d or 1h30m, a date, or an ISO 8601 instant';
export const UNTIL = 'end time (exclusive), as --since';

/** A time, given as ISO 8601 or as a span back from now. */
export function moment(option: string, text: string): string;
export function moment(option: string, text: string | undefined): string | undefined;
export function moment(option: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (/^\d+[a-z]/.test(text)) return ago(option, text);
  if (/^\d{4}-/.test(text)) return instant(option, text);
  throw new UsageError(`${option} is a span such as 7d, a date or an ISO 8601 instant, not \`${text}\``);
}

/** An ISO 8601 instant as given; a bare date is its first moment in UTC. Other checks are the service's. */
export function instant(option: string, text: string): string {
  const full = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00.000Z` : text;
  if (!/^\d{4}-\d{2}-\d{2}T/.test(full) || Number.isNaN(Date.parse(full))) {
    throw new UsageError(`${option} is an ISO 8601 instant such as 2024-05-01T12:00:00Z, not \`${text}\``);
  }
  return full;
}

/** `--last` as a count. */
export function tailCount(last = '10'): number {
  if (!isWholeNumber(last, 0, LIMITS.page.most))
    throw new UsageError(`--last is a whole number from 0 to ${LIMITS.page.most}`);
  return Number(last);
}
