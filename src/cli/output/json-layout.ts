import type { Member } from '../../contract/json-text.js';
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  END,
  JsonTokens,
  OPEN_ARRAY,
  OPEN_OBJECT,
} from '../../contract/json-tokens.js';

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
    out += tokens.json.toString('utf8', tokens.start, tokens.end);
    if (token === COMMA) out += line(tokens.depth);
    if (token === COLON) out += ' ';
    isFirst = isOpening;
  }
  return out;
}
