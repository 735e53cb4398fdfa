import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  END,
  JsonTokens,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../contract/json-tokens.js';

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

/** An object's text, made of its members. */
export const objectText = (list: readonly Member[]): string =>
  `{${list.map(({ name, raw }) => `${JSON.stringify(name)}:${raw}`).join(',')}}`;

/** The same JSON on one line: line breaks are always between values, never within a string. */
export const oneLine = (text: string): string => text.replaceAll(/[\r\n]+/g, ' ');

/** The same JSON, one member or element a line; lines after the first are indented by `level` steps more. */
export function pretty(text: string, level = 0): string {
  const tokens = new JsonTokens(Buffer.from(text));
  let out = '';
  const line = (depth: number) => `\n${'  '.repeat(level + depth)}`;
  let isFirst = false;
  for (let token = tokens.next(); token !== END; token = tokens.next()) {
    const isOpening = token === OPEN_OBJECT || token === OPEN_ARRAY;
    const isClosing = token === CLOSE_OBJECT || token === CLOSE_ARRAY;
    if (isFirst !== isClosing) out += line(isOpening ? tokens.depth - 1 : tokens.depth);
    out += textOf(tokens);
    if (token === COMMA) out += line(tokens.depth);
    if (token === COLON) out += ' ';
    isFirst = isOpening;
  }
  return out;
}

const textOf = ({ json, start, end }: JsonTokens): string => json.toString('utf8', start, end);

/** The value that begins with the current token. */
function wholeValue(tokens: JsonTokens): string {
  const { json, start } = tokens;
  tokens.skipValue();
  return json.toString('utf8', start, tokens.end);
}
