import { ControlError } from '../../contract/errors.js';
import { COMMA, END, JsonTokens, OPEN_ARRAY, skipSpace } from '../../contract/json-tokens.js';
import { STEP_BYTES, type Steps } from '../../platform/turns.js';

/**
 * The texts of the items of a JSON array, so that each can be parsed, and refused, on its own. Looks at brackets,
 * strings and commas only: whether an item is JSON is for its parser. Undefined where the text is no array; throws
 * `malformed_json` where the array has no end, or something after it. Looks no farther than at `most` items.
 */
export function* arrayItems(bytes: Buffer, most = Number.POSITIVE_INFINITY): Steps<Buffer[] | undefined> {
  const tokens = new JsonTokens(bytes);
  if (tokens.next() !== OPEN_ARRAY) return undefined;
  const items: Buffer[] = [];
  let start = tokens.end;
  for (let pause = STEP_BYTES; tokens.depth > 0; ) {
    if (tokens.end >= pause) {
      yield;
      pause = tokens.end + STEP_BYTES;
    }
    const token = tokens.next();
    if (token === END) throw malformed(bytes.length);
    if ((token === COMMA && tokens.depth === 1) || tokens.depth === 0) {
      items.push(bytes.subarray(start, tokens.start));
      if (items.length === most) return items;
      start = tokens.end;
    }
  }
  if (tokens.next() !== END) throw malformed(tokens.start);
  const [only] = items;
  return items.length === 1 && only && skipSpace(only, 0) === only.length ? [] : items;
}

function malformed(at: number): ControlError {
  return new ControlError('malformed_json', `the body is not valid JSON: the fault is at byte ${at}`, { at });
}
