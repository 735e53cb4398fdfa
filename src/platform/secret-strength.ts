import { deflateRawSync } from 'node:zlib';

/** NIST SP 800-131A: what has less security strength is not acceptable for keys any more. */
export const LEAST_SECRET_BITS = 128;

/** What an operator can do about a secret that is too weak, or about one that is missing. */
export const MAKE_A_SECRET = 'make one with `openssl rand -hex 32`';

const ALPHABETS: readonly (readonly [RegExp, number])[] = [
  [/^[0-9]*$/, 10],
  [/^[0-9a-f]*$/i, 16],
  [/^[a-z]*$/, 26],
  [/^[a-z_-]*$/, 27],
  [/^[0-9a-z]*$/, 36],
  [/^[0-9a-z_-]*$/, 37],
];
const MANY_CHARACTERS = 64;

/** Of 128 random bits in hexadecimal digits, fewer than one in 10^9 has no more different digits than this. */
const FEW_DIFFERENT = 5;

/**
 * An upper bound of the bits that an attacker has to guess. No check can prove that a text is random:
 * this refuses what is short, of few different characters, or made of repetitions.
 */
export function secretBits(secret: string): number {
  const size = ALPHABETS.find(([pattern]) => pattern.test(secret))?.[1] ?? MANY_CHARACTERS;
  const byAlphabet = secret.length * Math.log2(size);
  const byRepetition = deflateRawSync(secret, { level: 9 }).length * 8;
  if (new Set(secret).size <= FEW_DIFFERENT) return 0;
  return Math.floor(Math.min(byAlphabet, byRepetition));
}
