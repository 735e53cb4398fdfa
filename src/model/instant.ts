const INSTANT =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,3})0*)?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/;

const MINUTE_MS = 60_000;

/**
 * Milliseconds since 1970 of an ISO 8601 instant (RFC 3339: date, `T`, time, and `Z` or an offset), or undefined where
 * it is none, does not exist in the calendar, has digits below the millisecond, or leaves the years 0001 to 9999. Not by
 * `Date.parse`, which takes more forms, and misreads long fractions.
 */
export function parseInstant(text: string): number | undefined {
  const match = text.length <= 64 ? INSTANT.exec(text) : null;
  if (!match) return undefined;
  const [, year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.map(Number);
  const [fraction = '', sign = '', offsetHours = '0', offsetMinutes = '0'] = match.slice(7);
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const date = new Date(0);
  // Not the constructor, which takes the years 0 to 99 for 1900 to 1999.
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  date.setUTCHours(hour, minute, second, Number(fraction.padEnd(3, '0')));
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * MINUTE_MS;
  const ms = date.getTime() - (sign === '-' ? -offset : offset);
  const utcYear = new Date(ms).getUTCFullYear();
  return utcYear >= 1 && utcYear <= 9999 ? ms : undefined;
}
