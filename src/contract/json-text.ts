import { CLOSE_ARRAY, COMMA, END, JsonTokens, QUOTE } from './json-tokens.js';

/**
 * Reads JSON as text, so that every digit, every key and their order survive. JavaScript's own values would round large
 * numbers and move keys that look like numbers. All functions take valid JSON: parse it first.
 */
export interface Member {
  name: string;
  /** The value's text. */
  raw: string;
}

/** Whether `JSON.parse` takes it. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The members of an object, in order. */
export function members(text: string): Member[] {
  const tokens = new JsonTokens(Buffer.from(text));
  const found: Member[] = [];
  for (tokens.next(); tokens.next() === QUOTE; tokens.next()) {
    const name = JSON.parse(textOf(tokens)) as string;
    tokens.next();
    tokens.next();
    found.push({ name, raw: wholeValue(tokens) });
  }
  return found;
}

/** The text of the last member of that name: the one that JSON.parse takes, too. */
export const member = (text: string, name: string): string | undefined =>
  members(text).findLast((one) => one.name === name)?.raw;

/** The elements of an array, in order. */
export function elements(text: string): string[] {
  const tokens = new JsonTokens(Buffer.from(text));
  const found: string[] = [];
  tokens.next();
  for (let token = tokens.next(); token !== CLOSE_ARRAY && token !== END; token = tokens.next()) {
    if (token !== COMMA) found.push(wholeValue(tokens));
  }
  return found;
}

const textOf = ({ json, start, end }: JsonTokens): string => json.toString('utf8', start, end);

/** The value that begins with the current token. */
function wholeValue(tokens: JsonTokens): string {
  const { json, start } = tokens;
  tokens.skipValue();
  return json.toString('utf8', start, tokens.end);
}
