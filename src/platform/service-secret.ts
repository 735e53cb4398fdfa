import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Sealed texts are padded to whole blocks, so that their length reveals little about the text. */
const BLOCK = 64;

type Purpose = 'key' | 'cursor' | 'progress';
type Use = Purpose | `${Purpose} nonce`;

/**
 * Derives and seals under one secret, the same in all processes of a service. Each purpose has a key of its own (HKDF,
 * RFC 5869), so nothing that one use gives away helps against another.
 */
export class ServiceSecret {
  /** As objects: to use a key that is given in bytes takes 13 µs more. */
  private readonly keys = new Map<Use, KeyObject>();

  constructor(private readonly secret: string) {}

  /** HMAC-SHA-256 of the text, 43 base64url characters: the same at each call, in each process. */
  derived(purpose: Purpose, text: string): string {
    return createHmac('sha256', this.keyFor(purpose)).update(text).digest('base64url');
  }

  /**
   * AES-256-GCM. Nobody without the secret can read it, alter it, or use it with another `boundTo`. The nonce follows from
   * the text, as in the synthetic IV of RFC 5297: the same text is sealed the same, so that an answer can be compared with
   * an earlier one.
   */
  sealed(purpose: Purpose, text: string, boundTo: string): string {
    const nonce = createHmac('sha256', this.keyFor(`${purpose} nonce`))
      .update(`${Buffer.byteLength(boundTo)}:${boundTo}${text}`)
      .digest()
      .subarray(0, NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.keyFor(purpose), nonce).setAAD(Buffer.from(boundTo));
    const bytes = Buffer.from(text);
    const padding = Buffer.alloc(BLOCK - (bytes.length % BLOCK));
    padding.writeUInt8(padding.length, padding.length - 1);
    const parts = [nonce, cipher.update(bytes), cipher.update(padding), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(parts).toString('base64url');
  }

  /** Undefined for what was not sealed by this service for this purpose and `boundTo`. */
  opened(purpose: Purpose, sealed: string, boundTo: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    // Decoding ignores characters outside base64url; only the canonical encoding is accepted.
    if (bytes.length < NONCE_BYTES + BLOCK + TAG_BYTES || bytes.toString('base64url') !== sealed) return undefined;
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', this.keyFor(purpose), nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(boundTo)).setAuthTag(bytes.subarray(-TAG_BYTES));
    const padded = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    try {
      decipher.final();
    } catch {
      // Node reports a wrong tag with an error that has no code.
      return undefined;
    }
    return padded.subarray(0, padded.length - padded.readUInt8(padded.length - 1)).toString();
  }

  private keyFor(use: Use): KeyObject {
    const known = this.keys.get(use);
    if (known) return known;
    const key = createSecretKey(Buffer.from(hkdfSync('sha256', this.secret, '', `control-service ${use}`, 32)));
    this.keys.set(use, key);
    return key;
  }
}
