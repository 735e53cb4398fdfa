/** What standard base64 with padding stands for; undefined unless the text is the one that encoding would give. */
export function fromBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

/** A count in decimal without leading zeros, at most 2^53 - 1. */
export function fromDecimal(text: string): number | undefined {
  const value = /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

/** What a `Date` holds: until the year 275760. */
const LATEST_MS = 8.64e15;

/** A time in milliseconds since 1970, in decimal. */
export function fromTime(text: string): number | undefined {
  const time = fromDecimal(text);
  return time !== undefined && time <= LATEST_MS ? time : undefined;
}

/** A text that is not what its format says. The message names the format and the fault. */
export class FormatInvalid extends Error {
  override readonly name = 'FormatInvalid';
}
