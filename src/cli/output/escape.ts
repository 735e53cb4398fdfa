/**
 * Characters that steer a terminal or make text look like what it is not: C0 and C1 controls, DEL, line and paragraph
 * separators, bidirectional controls, invisible format characters, lone surrogates.
 */
const UNSAFE_CLASS = String.raw`\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\p{Cs}`;
const UNSAFE = new RegExp(`[${UNSAFE_CLASS}]`, 'gu');
const UNSAFE_ONCE = new RegExp(`[${UNSAFE_CLASS}]`, 'u');
const SHORT: Readonly<Record<string, string>> = { '\n': String.raw`\n`, '\r': String.raw`\r`, '\t': String.raw`\t` };

const toUnicodeEscape = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Whether the text holds anything but printable characters. */
export const isUnsafe = (text: string): boolean => UNSAFE_ONCE.test(text);

/** Text for one line of a terminal: every control character becomes a visible escape such as `\u001b` or `\n`. */
export const escapeLine = (text: string): string =>
  text.replace(UNSAFE, (char) => SHORT[char] ?? toUnicodeEscape(char));

/**
 * Text of several lines: as `escapeLine`, but line feeds stay. In JSON text this changes no value: there, it
 * replaces characters inside strings only, and `\uXXXX` means the same character.
 */
export const escapeLines = (text: string): string =>
  text.replace(UNSAFE, (char) => (char === '\n' ? char : toUnicodeEscape(char)));
