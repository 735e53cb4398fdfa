/** The shortest and the longest text that is looked at. */
const SHORTEST = '0001-01-01T00:00:00Z'.length;
const LONGEST = 64;

const MINUTE_MS = 60_000;

/** After so many years the calendar repeats itself, and so many milliseconds. */
const CYCLE_YEARS = 400;
const CYCLE_MS = 146_097 * 24 * 60 * MINUTE_MS;

const FIRST_MS = Date.parse('0001-01-01T00:00:00.000Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Milliseconds since 1970 of an ISO 8601 instant (RFC 3339: date, `T`, time, and `Z` or an offset), or undefined if it is
 * none, does not exist in the calendar, or leaves the years 0001 to 9999. Finer digits are cut off. Not by `Date.parse`,
 * which takes more forms, and misreads long fractions.
 * Members of groups depend on which texts are instants: other spellings are for `readInstant`.
 */
export function parseInstant(text: string): number | undefined {
  if (text.length < SHORTEST || text.length > LONGEST) return undefined;
  if (text[4] !== '-' || text[7] !== '-' || text[10] !== 'T' || text[13] !== ':' || text[16] !== ':') return undefined;
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 2);
  const day = digits(text, 8, 2);
  const hour = digits(text, 11, 2);
  const minute = digits(text, 14, 2);
  const second = digits(text, 17, 2);
  if (!(month >= 1 && month <= 12 && day >= 1 && hour <= 23 && minute <= 59 && second <= 59)) return undefined;
  const end = endOfFraction(text);
  const offset = offsetMinutes(text, end);
  const fraction = text[19] === '.' ? milliseconds(text, end) : 0;
  // In a later cycle, since `Date.UTC` takes the years 0 to 99 for 1900 to 1999.
  const local = Date.UTC(year + CYCLE_YEARS, month - 1, day, hour, minute, second, fraction);
  if (new Date(local).getUTCDate() !== day) return undefined;
  const ms = local - CYCLE_MS - offset * MINUTE_MS;
  return ms >= FIRST_MS && ms <= LAST_MS ? ms : undefined;
}

/** As `parseInstant`, and with what RFC 3339 also allows: `t` or a blank in place of `T`, and `z` in place of `Z`. */
export function readInstant(text: string): number | undefined {
  const [date, time] = [text.slice(0, 10), text.slice(11)];
  return /[Tt ]/.test(text[10] ?? '') ? parseInstant(`${date}T${time.replace(/z$/, 'Z')}`) : undefined;
}

/** Whether an instant has digits below the millisecond that are not 0. */
export function isFinerThanMs(text: string): boolean {
  const end = endOfFraction(text);
  for (let at = 23; at < end; at += 1) if (text[at] !== '0') return true;
  return false;
}

/** The number that so many digits stand for; NaN where one of them is none. */
function digits(text: string, from: number, count: number): number {
  let value = 0;
  for (let at = from; at < from + count; at += 1) value = value * 10 + digit(text, at);
  return value;
}

function digit(text: string, at: number): number {
  const value = text.charCodeAt(at) - 0x30;
  return value >= 0 && value <= 9 ? value : Number.NaN;
}

/** Where the zone begins. */
function endOfFraction(text: string): number {
  let at = 19;
  if (text[at] === '.')
    do at += 1;
    while (digit(text, at) >= 0);
  return at;
}

/** Of `.` and digits, without those below the millisecond; NaN for none. */
function milliseconds(text: string, end: number): number {
  if (end === 20) return Number.NaN;
  const count = Math.min(3, end - 20);
  return digits(text, 20, count) * 10 ** (3 - count);
}

/** Minutes east of Greenwich; NaN if the text does not end with a zone. */
function offsetMinutes(text: string, at: number): number {
  const sign = text[at];
  if (sign === 'Z') return text.length === at + 1 ? 0 : Number.NaN;
  if ((sign !== '+' && sign !== '-') || text.length !== at + 6 || text[at + 3] !== ':') return Number.NaN;
  const [hours, minutes] = [digits(text, at + 1, 2), digits(text, at + 4, 2)];
  if (!(hours <= 23 && minutes <= 59)) return Number.NaN;
  return (sign === '-' ? -1 : 1) * (hours * 60 + minutes);
}
