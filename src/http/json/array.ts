import { ControlError } from '../../contract/errors.js';

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN = 0x5b;
const ESCAPE = 0x5c;
const CLOSE = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * The texts of the items of a JSON array, so that each can be parsed, and refused, on its own. Looks at brackets,
 * strings and commas only: whether an item is JSON is for its parser. Undefined where the text is no array; throws
 * `malformed_json` where the array has no end, or something after it. Looks no farther than at `most` items.
 */
export function arrayItems(bytes: Buffer, most = Number.POSITIVE_INFINITY): Buffer[] | undefined {
  let index = skipSpace(bytes, 0);
  if (bytes[index] !== OPEN) return undefined;
  const items: Buffer[] = [];
  let depth = 1;
  let start = index + 1;
  while (depth > 0) {
    index += 1;
    if (index >= bytes.length) throw malformed(bytes.length);
    const byte = bytes[index];
    if (byte === QUOTE) index = closingQuote(bytes, index);
    else if (byte === OPEN || byte === OPEN_BRACE) depth += 1;
    else if (byte === CLOSE || byte === CLOSE_BRACE) depth -= 1;
    if ((byte === COMMA && depth === 1) || depth === 0) {
      items.push(bytes.subarray(start, index));
      if (items.length === most) return items;
      start = index + 1;
    }
  }
  const end = skipSpace(bytes, index + 1);
  if (end < bytes.length) throw malformed(end);
  const [only] = items;
  return items.length === 1 && only && skipSpace(only, 0) === only.length ? [] : items;
}

function closingQuote(bytes: Buffer, start: number): number {
  for (let index = start + 1; index < bytes.length; index += 1) {
    if (bytes[index] === ESCAPE) index += 1;
    else if (bytes[index] === QUOTE) return index;
  }
  throw malformed(bytes.length);
}

/** The first place from `index` on that is not white space (RFC 8259 section 2). */
export function skipSpace(bytes: Buffer, index: number): number {
  let at = index;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at += 1;
  return at;
}

function malformed(at: number): ControlError {
  return new ControlError('malformed_json', `the body is not valid JSON: the fault is at byte ${at}`, { at });
}
