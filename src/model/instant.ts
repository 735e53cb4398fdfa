const INSTANT =
  /^(?!0000)(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.\d{1,3}0*)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/**
 * Milliseconds since 1970 of an ISO 8601 instant (RFC 3339: date, `T`, time, and `Z` or an offset), or undefined where
 * it is none, does not exist in the calendar, has digits below the millisecond, or leaves the years 0001 to 9999.
 */
export function parseInstant(text: string): number | undefined {
  const match = text.length <= 64 ? INSTANT.exec(text) : null;
  if (!match) return undefined;
  const [, year = '', month = '', day = '', hour = '', minute = '', second = ''] = match;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const local = new Date(`${year}-${month}-${day}T00:00:00.000Z`);
  // A day that the month does not have either fails to parse or lands in the next month.
  if (Number.isNaN(local.getTime()) || local.getUTCDate() !== Number(day)) return undefined;
  const ms = Date.parse(text);
  const utcYear = new Date(ms).getUTCFullYear();
  return utcYear >= 1 && utcYear <= 9999 ? ms : undefined;
}
