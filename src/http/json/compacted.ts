import { isUtf8 } from 'node:buffer';
import { END, JsonTokens, QUOTE, WORD } from '../../contract/json-tokens.js';

/**
 * The same JSON without white space, its strings with the escapes that `JSON.stringify` writes; all else byte for byte.
 * Undefined for what has such a form already, and for some of what is no JSON. The rest of that is no JSON afterwards either.
 */
export function compacted(bytes: Buffer): Buffer | undefined {
  if (!isUtf8(bytes)) return undefined;
  const tokens = new JsonTokens(bytes);
  // An escape that is written otherwise is not longer.
  const compact = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  let before = END;
  // Tokens without anything between them are copied at once.
  let from = 0;
  let to = 0;
  const copy = () => {
    length += bytes.copy(compact, length, from, to);
  };
  for (let token = tokens.next(); token !== END; token = tokens.next()) {
    const { start, end } = tokens;
    // Without the white space between them they would be one.
    if (token === WORD && before === WORD) return undefined;
    before = token;
    if (start > to) {
      copy();
      from = start;
    }
    to = end;
    if (token !== QUOTE || !tokens.isEscaped) continue;
    const text = rewritten(bytes.toString('utf8', start, end));
    if (text === undefined) return undefined;
    to = start;
    copy();
    length += compact.write(text, length);
    from = end;
    to = end;
  }
  copy();
  const changed = compact.subarray(0, length);
  return changed.equals(bytes) ? undefined : changed;
}

/** Undefined for what is no string of Unicode. */
function rewritten(text: string): string | undefined {
  try {
    const value: string = JSON.parse(text);
    return value.isWellFormed() ? JSON.stringify(value) : undefined;
  } catch {
    return undefined;
  }
}
