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
