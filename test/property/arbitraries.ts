import fc from '../support/fast-check.js';

/** How often a property runs. Which cases it tries follows from `SEED`. */
export function seeded<Values extends unknown[]>(numRuns: number): fc.Parameters<Values> {
  return { numRuns };
}

/** Any text that is valid Unicode. */
export const unicode = (constraints: fc.StringConstraints = {}): fc.Arbitrary<string> =>
  fc.string({ unit: 'binary', ...constraints });

const isControl = (text: string) => /[\p{Cc}]/u.test(text);

/** A text that may name a resource. */
export const naming = fc
  .array(
    fc.oneof({ weight: 4, arbitrary: fc.string({ unit: 'grapheme-ascii' }) }, { weight: 1, arbitrary: unicode() }),
    {
      minLength: 1,
      maxLength: 5,
    },
  )
  .map((parts) => parts.join(''))
  .filter((text) => text !== '' && !isControl(text) && [...text].length <= 1024);

/** JSON values whose numbers are doubles. */
export const jsonValue: fc.Arbitrary<unknown> = fc
  .jsonValue({ maxDepth: 5, stringUnit: 'binary' })
  .filter((value) => !JSON.stringify(value).includes('__proto__'));

export const jsonObject: fc.Arbitrary<Record<string, unknown>> = fc.dictionary(unicode(), jsonValue, {
  maxKeys: 5,
  noNullPrototype: true,
});

/** The text of a JSON value, with white space wherever it may stand and escapes wherever they may. */
export function spelled(value: unknown, random: () => number): string {
  const space = () => ['', '', '', ' ', '\n', '\t ', '\r\n'][Math.floor(random() * 7)] ?? '';
  const text = (string: string) =>
    JSON.stringify(string).replace(/[a-zA-Z]/g, (letter, at: number, whole: string) =>
      random() < 0.1 && !isEscaped(whole, at) ? `\\u00${letter.charCodeAt(0).toString(16)}` : letter,
    );
  const write = (one: unknown): string => {
    if (typeof one === 'string') return text(one);
    if (one === null || typeof one !== 'object') return JSON.stringify(one);
    if (Array.isArray(one)) return `[${space()}${one.map(write).join(`${space()},${space()}`)}${space()}]`;
    const members = Object.entries(one).map(([name, member]) => `${text(name)}${space()}:${space()}${write(member)}`);
    return `{${space()}${members.join(`${space()},${space()}`)}${space()}}`;
  };
  return `${space()}${write(value)}${space()}`;
}

/** Whether the letter is part of an escape such as `\n` or `\u001f`. */
function isEscaped(whole: string, at: number): boolean {
  return /\\(?:u[0-9a-f]{0,3})?$/.test(whole.slice(Math.max(0, at - 5), at).replace(/\\\\/g, ''));
}
