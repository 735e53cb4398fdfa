import { NoteSigner, vkeyOf } from '../tlog/note.js';
import { FormatInvalid } from '../tlog/text.js';

/** A key that was replaced, and until when it signs too, so that verifiers have time to learn the new one. */
interface FormerSigner {
  readonly signer: NoteSigner;
  /** In milliseconds. */
  readonly until: number;
}

/** The keys that sign checkpoints: the newest, and those that it replaced not long ago. */
export class SigningKeys {
  constructor(
    readonly newest: NoteSigner,
    readonly former: readonly FormerSigner[] = [],
  ) {}

  /**
   * A key a line, the newest first; after each of the others a space and the date until when it signs. Or one key in PEM, which
   * gets `name`. Throws `FormatInvalid`.
   */
  static parse(text: string, name?: string): SigningKeys {
    if (text.startsWith('-----BEGIN ')) return new SigningKeys(NoteSigner.parse(text, name));
    const [newest = '', ...others] = text.split('\n').filter((line) => line.trim() !== '');
    const former = others.map((line) => {
      const [key = '', date = ''] = line.trim().split(/\s+/);
      const until = Date.parse(date);
      if (Number.isNaN(until)) throw new FormatInvalid('A former signing key has no date until when it signs.');
      return { signer: NoteSigner.parse(key), until };
    });
    return new SigningKeys(NoteSigner.parse(newest), former);
  }

  /** Secret. As `parse` reads it. */
  toText(): string {
    const others = this.former.map(({ signer, until }) => `${signer.toText()} ${new Date(until).toISOString()}\n`);
    return `${this.newest.toText()}\n${others.join('')}`;
  }

  /** With a new key, and the one before it as a former key. */
  rotated(now: number, formerMs: number): SigningKeys {
    const { newest, former } = this;
    const kept = former.filter(({ until }) => until > now);
    return new SigningKeys(NoteSigner.generate(newest.name), [{ signer: newest, until: now + formerMs }, ...kept]);
  }

  /** The key that this verifier key of the origin is of, whether its time is over or not. */
  named(vkey: string, origin: string): NoteSigner | undefined {
    const all = [this.newest, ...this.former.map(({ signer }) => signer)];
    return all.find(({ publicKey }) => vkeyOf(origin, publicKey) === vkey);
  }

  /** The note, signed by every key whose time is not over; the newest first. */
  signNote(origin: string, text: string, now = Date.now()): string {
    const former = this.former.filter(({ until }) => until > now);
    return this.newest.signNote(origin, text) + former.map(({ signer }) => signer.signatureLine(origin, text)).join('');
  }
}
