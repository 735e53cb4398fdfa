import { parseInstant } from '../../model/instant.js';

const AHEAD_MS = 5 * 60 * 1000;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** RFC 3339, also with a space in place of `T`, an offset without a colon, or no zone. */
const DATE_TIME = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:[.,](\d{1,30}))? ?(?:([Zz]|UTC|GMT)|([+-]\d\d):?(\d\d))?$/;
/** RFC 3164, and with a year. */
const SYSLOG_TIME = /^([A-Z][a-z]{2}) ([ \d]?\d) (?:(\d{4}) )?(\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?$/;
const EPOCH = /^(\d{1,19})(?:\.(\d+))?$/;
/** In text, a shorter number may be anything. */
const EPOCH_TEXT = /^\d{9,19}(?:\.\d+)?$/;

/**
 * A time as senders write it, as an ISO 8601 instant with all its digits: RFC 3339 to the nanosecond, seconds, milliseconds,
 * microseconds or nanoseconds since 1970 by their magnitude, RFC 3164. A time without a zone is in UTC, one without a year
 * is the nearest to `now`. Undefined for what cannot be read, and for a time that is more than 5 minutes ahead of `now`.
 */
export function readTime(text: string, isNumber: boolean, now: number): string | undefined {
  const instant = isNumber || EPOCH_TEXT.test(text) ? ofEpoch(text) : (ofDateTime(text) ?? ofSyslog(text, now));
  const ms = instant === undefined ? undefined : parseInstant(instant);
  return ms === undefined || ms > now + AHEAD_MS ? undefined : instant;
}

function ofDateTime(text: string): string | undefined {
  const [, date, time, fraction, , hours, minutes] = DATE_TIME.exec(text) ?? [];
  if (date === undefined) return undefined;
  return `${date}T${time}${fraction === undefined ? '' : `.${fraction}`}${hours === undefined ? 'Z' : `${hours}:${minutes}`}`;
}

function ofSyslog(text: string, now: number): string | undefined {
  const [, month = '', day = '', year, time, fraction = '0'] = SYSLOG_TIME.exec(text) ?? [];
  const number = MONTHS.indexOf(month) + 1;
  if (number === 0) return undefined;
  const rest = `-${String(number).padStart(2, '0')}-${day.trim().padStart(2, '0')}T${time}.${fraction}Z`;
  if (year !== undefined) return year + rest;
  const current = new Date(now).getUTCFullYear();
  const distance = (instant: string) => Math.abs((parseInstant(instant) ?? Number.POSITIVE_INFINITY) - now);
  const years = [current, current - 1, current + 1].map((one) => String(one).padStart(4, '0') + rest);
  return years.reduce((best, one) => (distance(one) < distance(best) ? one : best));
}

/** The digits below a second of each unit, from the coarsest: by how many digits a time since 1970 has. */
const UNITS = [
  { digits: 11, scale: 9 },
  { digits: 14, scale: 6 },
  { digits: 17, scale: 3 },
  { digits: 19, scale: 0 },
];
const NS_PER_MS = 1_000_000n;
const LAST_MS = BigInt(Date.parse('9999-12-31T23:59:59.999Z'));

function ofEpoch(text: string): string | undefined {
  const [, whole, fraction = ''] = EPOCH.exec(/e/i.test(text) ? String(Number(text)) : text) ?? [];
  const unit = UNITS.find(({ digits }) => whole !== undefined && whole.length <= digits);
  if (whole === undefined || unit === undefined) return undefined;
  const ns = BigInt(whole + fraction.slice(0, unit.scale).padEnd(unit.scale, '0'));
  const [ms, rest] = [ns / NS_PER_MS, ns % NS_PER_MS];
  if (ms > LAST_MS) return undefined;
  const finer = String(rest).padStart(6, '0').replace(/0+$/, '');
  return `${new Date(Number(ms)).toISOString().slice(0, -1)}${finer}Z`;
}
