/** The time, in milliseconds since 1970-01-01T00:00:00Z. Nothing below the composition root asks the system itself. */
export interface Clock {
  /** Whole milliseconds. May go backward when the system's clock is set; callers that need order use log positions. */
  now(): number;
}

/** Under this token Nest injects the `Clock`. */
export const CLOCK = Symbol('Clock');

export const systemClock: Clock = { now: () => Date.now() };

/** ISO 8601 in UTC with milliseconds, for years 0001 to 9999: the only form in which times leave the service. */
export function isoTime(ms: number): string {
  // The same millisecond is written many times in a row.
  if (ms !== last.ms) last = { ms, text: new Date(ms).toISOString() };
  return last.text;
}

let last = { ms: 0, text: new Date(0).toISOString() };
