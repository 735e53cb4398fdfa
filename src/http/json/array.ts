import { ControlError } from '../../contract/errors.js';
import type { Steps } from '../../platform/turns.js';

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN = 0x5b;
const ESCAPE = 0x5c;
const CLOSE = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** How many bytes are looked at in one step. */
const STEP_BYTES = 256 * 1024;

/**
 * The texts of the items of a JSON array, so that each can be parsed, and refused, on its own. Looks at brackets,
 * strings and commas only: whether an item is JSON is for its parser. Undefined where the text is no array; throws
 * `malformed_json` where the array has no end, or something after it. Looks no farther than at `most` items.
 */
export function* arrayItems(bytes: Buffer, most = Number.POSITIVE_INFINITY): Steps<Buffer[] | undefined> {
  const open = skipSpace(bytes, 0);
  if (bytes[open] !== OPEN) return undefined;
  const items: Buffer[] = [];
  let depth = 1;
  let isText = false;
  let start = open + 1;
  let index = start;
  for (let pause = index + STEP_BYTES; depth > 0; index += 1) {
    if (index >= bytes.length) throw malformed(bytes.length);
    if (index >= pause) {
      yield;
      pause = index + STEP_BYTES;
    }
    const byte = bytes[index];
    if (isText) {
      if (byte === ESCAPE) index += 1;
      else if (byte === QUOTE) isText = false;
      continue;
    }
    if (byte === QUOTE) isText = true;
    else if (byte === OPEN || byte === OPEN_BRACE) depth += 1;
    else if (byte === CLOSE || byte === CLOSE_BRACE) depth -= 1;
    if ((byte === COMMA && depth === 1) || depth === 0) {
      items.push(bytes.subarray(start, index));
      if (items.length === most) return items;
      start = index + 1;
    }
  }
  const end = skipSpace(bytes, index);
  if (end < bytes.length) throw malformed(end);
  const [only] = items;
  return items.length === 1 && only && skipSpace(only, 0) === only.length ? [] : items;
}

/** The first place from `index` on that is not white space (RFC 8259 section 2). */
export function skipSpace(bytes: Buffer, index: number): number {
  let at = index;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at += 1;
  return at;
}

function malformed(at: number): ControlError {
  return new ControlError('malformed_json', `the body is not JSON: it goes wrong at byte ${at}`, { at });
}
