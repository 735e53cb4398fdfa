/**
 * Characters that steer a terminal or make text look like what it is not: C0 and C1 controls, DEL, line and paragraph
 * separators, bidirectional controls, lone surrogates, and what is not seen: zero-width characters, soft hyphens, fillers,
 * tags, variation selectors beyond the usual 16. A zero-width joiner between two pictographs stays: it makes them one.
 */
const UNSAFE_SOURCE = String.raw`[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}\p{Cs}]|(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d|\u200d(?!\p{Extended_Pictographic})`;
const UNSAFE = new RegExp(UNSAFE_SOURCE, 'gu');
const UNSAFE_ONCE = new RegExp(UNSAFE_SOURCE, 'u');
const SHORT: Readonly<Record<string, string>> = { '\n': String.raw`\n`, '\r': String.raw`\r`, '\t': String.raw`\t` };

/** As in JSON: a character beyond the first 65,536 is two escapes. */
const toUnicodeEscape = (char: string): string =>
  char
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');

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

const MASK = '***';
/** A key of this service, anywhere in a text. */
const SERVICE_KEY = /svc_[A-Za-z0-9_-]{8,}/g;
/** A member of a JSON body that is a secret by its name. */
const SECRET_MEMBER = /("(?:key|token|secret|password|authorization)"\s*:\s*")[^"\\]*(?:\\.[^"\\]*)*"/gi;
/** Shorter texts are no keys: masking them would only garble words that happen to contain them. */
const SHORTEST_SECRET = 6;

/** Replaces secrets in text that leaves for the screen or a log: known ones, and what looks like one. */
export class Masker {
  readonly #secrets = new Set<string>();

  /** From now on this text is never shown. */
  add(secret: string | undefined): void {
    if (secret !== undefined && secret.length >= SHORTEST_SECRET) this.#secrets.add(secret);
  }

  mask(text: string): string {
    let masked = text;
    for (const secret of this.#secrets) masked = masked.replaceAll(secret, MASK);
    return masked.replace(SERVICE_KEY, `svc_${MASK}`).replace(SECRET_MEMBER, `$1${MASK}"`);
  }
}

/** A key as `profile get` shows it: enough to distinguish two keys, too little to use. */
export function abbreviate(secret: string): string {
  return secret.length >= 20 ? `${secret.slice(0, 4)}${MASK}${secret.slice(-4)}` : MASK;
}
