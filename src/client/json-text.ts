/**
 * Reads JSON as text, so that every digit, every key and their order survive. JavaScript's own values would round large
 * numbers and move keys that look like numbers. All functions take valid JSON: parse it first.
 */
export interface Member {
  name: string;
  /** The value's text. */
  raw: string;
}

/** The members of an object, in order. */
export function members(text: string): Member[] {
  const found: Member[] = [];
  for (let at = skipSpace(text, skipSpace(text, 0) + 1); text[at] !== '}'; at = nextItem(text, at)) {
    const nameEnd = stringEnd(text, at);
    const name = JSON.parse(text.slice(at, nameEnd)) as string;
    const start = skipSpace(text, skipSpace(text, nameEnd) + 1);
    at = valueEnd(text, start);
    found.push({ name, raw: text.slice(start, at) });
  }
  return found;
}

/** The text of the last member of that name: the one that JSON.parse takes, too. */
export const member = (text: string, name: string): string | undefined =>
  members(text).findLast((one) => one.name === name)?.raw;

/** The elements of an array, in order. */
export function elements(text: string): string[] {
  const found: string[] = [];
  for (let at = skipSpace(text, skipSpace(text, 0) + 1); text[at] !== ']'; at = nextItem(text, at)) {
    const start = at;
    at = valueEnd(text, start);
    found.push(text.slice(start, at));
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
  const out: string[] = [];
  let depth = level;
  const newLine = () => `\n${'  '.repeat(depth)}`;
  for (let at = skipSpace(text, 0); at < text.length; at = skipSpace(text, at)) {
    const char = text[at] as string;
    if (char === '{' || char === '[') {
      const next = skipSpace(text, at + 1);
      if (text[next] === '}' || text[next] === ']') {
        out.push(char, text[next] as string);
        at = next;
      } else {
        depth++;
        out.push(char, newLine());
      }
      at++;
    } else if (char === '}' || char === ']') {
      depth--;
      out.push(newLine(), char);
      at++;
    } else if (char === ',' || char === ':') {
      out.push(char === ',' ? `,${newLine()}` : ': ');
      at++;
    } else {
      const end = valueEnd(text, at);
      out.push(text.slice(at, end));
      at = end;
    }
  }
  return out.join('');
}

/** The index after the string that begins at `at`. */
function stringEnd(text: string, at: number): number {
  let end = at + 1;
  for (;;) {
    const quote = text.indexOf('"', end);
    if (quote < 0) return text.length;
    let slashes = 0;
    while (text[quote - 1 - slashes] === '\\') slashes++;
    end = quote + 1;
    if (slashes % 2 === 0) return end;
  }
}

/** The index after the value that begins at `at`. */
function valueEnd(text: string, at: number): number {
  const char = text[at];
  if (char === '"') return stringEnd(text, at);
  if (char !== '{' && char !== '[') return scalarEnd(text, at);
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    const here = text[i];
    if (here === '"') i = stringEnd(text, i) - 1;
    else if (here === '{' || here === '[') depth++;
    else if ((here === '}' || here === ']') && --depth === 0) return i + 1;
  }
  return text.length;
}

function scalarEnd(text: string, at: number): number {
  let end = at;
  while (end < text.length && !',]} \n\r\t'.includes(text[end] as string)) end++;
  return end;
}

/** From the end of one item to the begin of the next, or to the closing bracket. */
function nextItem(text: string, at: number): number {
  const end = skipSpace(text, at);
  return text[end] === ',' ? skipSpace(text, end + 1) : end;
}

function skipSpace(text: string, at: number): number {
  let next = at;
  while (next < text.length && ' \n\r\t'.includes(text[next] as string)) next++;
  return next;
}
