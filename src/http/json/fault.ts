import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  END,
  endOfScalar,
  JsonTokens,
  NONE,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  WORD,
} from '../../contract/json-tokens.js';

/** What may come next: a value, a member's name, or what follows either. */
type Expected = 'value' | 'first value' | 'name' | 'first name' | 'colon' | 'end of value';

/**
 * Where text that is no JSON stops being the beginning of one, by its tokens: V8 names no place for most faults. A fault
 * within a string has the place of the string.
 */
export function faultIn(bytes: Buffer): number {
  const tokens = new JsonTokens(bytes);
  const open: number[] = [];
  let expected: Expected = 'value';
  for (let token = tokens.next(); token !== END; token = tokens.next()) {
    const next = after(expected, token, open);
    if (next === undefined) return tokens.start;
    if (token === WORD) {
      const end = endOfScalar(bytes, tokens.start);
      if (end !== tokens.end) return end === NONE ? tokens.start : end;
    }
    expected = next;
  }
  return tokens.start;
}

/** Undefined when the token may not come. Keeps the brackets that are open. */
function after(expected: Expected, token: number, open: number[]): Expected | undefined {
  const isValue = expected === 'value' || expected === 'first value';
  const isClosing = token === CLOSE_ARRAY || token === CLOSE_OBJECT;
  if (isClosing) {
    const isWhole = expected === 'end of value' || expected === (token === CLOSE_ARRAY ? 'first value' : 'first name');
    return isWhole && open.pop() === token - 2 ? 'end of value' : undefined;
  }
  if (expected === 'name' || expected === 'first name') return token === QUOTE ? 'colon' : undefined;
  if (expected === 'colon') return token === COLON ? 'value' : undefined;
  if (isValue) return afterValue(token, open);
  if (token !== COMMA || open.length === 0) return undefined;
  return open.at(-1) === OPEN_ARRAY ? 'value' : 'name';
}

function afterValue(token: number, open: number[]): Expected | undefined {
  if (token === QUOTE || token === WORD) return 'end of value';
  if (token !== OPEN_ARRAY && token !== OPEN_OBJECT) return undefined;
  open.push(token);
  return token === OPEN_ARRAY ? 'first value' : 'first name';
}
