import {
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  randomBytes,
  sign as signBytes,
  verify as verifyBytes,
} from 'node:crypto';
import { sha256 } from './hash.js';
import { FormatInvalid, fromBase64 } from './text.js';

/** A note that no trusted key signed, or one with a wrong signature of a trusted key. */
export class NoteInvalid extends Error {
  override readonly name = 'NoteInvalid';
}

/** A public key with the name of its owner: C2SP signed-note, verifier key. */
export interface Vkey {
  readonly name: string;
  /** `ED25519` of a log, or `COSIGNATURE` of a witness. */
  readonly type: number;
  readonly id: Buffer;
  readonly publicKey: Buffer;
}

interface NoteSignature {
  readonly name: string;
  /** As given to `openNote`. */
  readonly vkey: string;
  /** Of a cosignature, in milliseconds. */
  readonly time?: number;
}

export interface OpenNote {
  /** With its last newline. */
  readonly text: string;
  /** Those of trusted keys, in order; at least one. */
  readonly signatures: readonly NoteSignature[];
}

/** Signature types of signed-note. */
const ED25519 = 0x01;
const COSIGNATURE = 0x04;

const KEY_BYTES = 32;
const ID_BYTES = 4;
const SIGNATURE_BYTES = 64;
/** As Go's `note`. The specification demands at least 16. */
const MAX_SIGNATURES = 100;

/** Of RFC 8410, before the 32 bytes of the key. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

const SIGNER_PREFIX = 'PRIVATE+KEY+';
const NAME = /^[^\s+]+$/u;

function keyId(name: string, type: number, publicKey: Uint8Array): Buffer {
  return sha256(Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(type), publicKey])).subarray(0, ID_BYTES);
}

/** Go's text of a verifier: `name+id+base64(type || key)`. */
export function vkeyOf(name: string, publicKey: Uint8Array, type: number = ED25519): string {
  const key = Buffer.concat([Buffer.of(type), publicKey]).toString('base64');
  return `${name}+${keyId(name, type, publicKey).toString('hex')}+${key}`;
}

/** Throws `FormatInvalid`. */
export function parseVkey(text: string): Vkey {
  const [name = '', hex = '', ...rest] = text.split('+');
  const key = fromBase64(rest.join('+'));
  const [type, publicKey] = [key?.[0], key?.subarray(1)];
  if (!NAME.test(name) || type === undefined || publicKey?.length !== KEY_BYTES)
    throw new FormatInvalid(`"${text}" is not a verifier key <name>+<id>+<base64>.`);
  if (type !== ED25519 && type !== COSIGNATURE)
    throw new FormatInvalid(
      `The verifier key of ${name} has the signature type ${type}; ${ED25519} and ${COSIGNATURE} are known.`,
    );
  const id = keyId(name, type, publicKey);
  if (id.toString('hex') !== hex)
    throw new FormatInvalid(`The verifier key of ${name} has the id ${hex}, not ${id.toString('hex')}.`);
  return { name, type, id, publicKey };
}

/** Signs notes with one Ed25519 key, in the name of any origin. */
export class NoteSigner {
  readonly #key: KeyObject;
  readonly #seed: Buffer;
  readonly publicKey: Buffer;

  private constructor(
    readonly name: string,
    seed: Buffer,
  ) {
    this.#seed = seed;
    this.#key = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' });
    this.publicKey = createPublicKey(this.#key).export({ format: 'der', type: 'spki' }).subarray(-KEY_BYTES);
  }

  static generate(name: string): NoteSigner {
    return new NoteSigner(name, randomBytes(KEY_BYTES));
  }

  /**
   * Reads Go's text of a signer, or an Ed25519 key in PEM (RFC 8410), which gets `name`. Throws `FormatInvalid`, which never
   * shows the text.
   */
  static parse(text: string, name?: string): NoteSigner {
    if (name !== undefined && text.startsWith('-----BEGIN ')) return new NoteSigner(name, seedIn(text));
    return NoteSigner.parseText(text);
  }

  private static parseText(text: string): NoteSigner {
    const [name = '', hex = '', ...rest] = text.trim().slice(SIGNER_PREFIX.length).split('+');
    const key = fromBase64(rest.join('+'));
    if (!text.startsWith(SIGNER_PREFIX) || !NAME.test(name) || key?.length !== 1 + KEY_BYTES || key[0] !== ED25519)
      throw new FormatInvalid(
        'The signing key is not of the form PRIVATE+KEY+<name>+<id>+<base64> with an Ed25519 key.',
      );
    const signer = new NoteSigner(name, key.subarray(1));
    if (keyId(name, ED25519, signer.publicKey).toString('hex') !== hex)
      throw new FormatInvalid(`The signing key of ${name} does not have the id ${hex}: its text is damaged.`);
    return signer;
  }

  /** Secret: Go's text of a signer. */
  toText(): string {
    const id = keyId(this.name, ED25519, this.publicKey).toString('hex');
    return `${SIGNER_PREFIX}${this.name}+${id}+${Buffer.concat([Buffer.of(ED25519), this.#seed]).toString('base64')}`;
  }

  /** Of the signer's own name. */
  get vkey(): string {
    return vkeyOf(this.name, this.publicKey);
  }

  /** The note: text, empty line, one signature line. The text ends in a newline. */
  signNote(origin: string, text: string): string {
    return `${text}\n${this.signatureLine(origin, text)}`;
  }

  /** One more line for a note of this text, as while a key is replaced. */
  signatureLine(origin: string, text: string): string {
    if (!text.endsWith('\n')) throw new FormatInvalid('The text of a note must end in a newline.');
    const signature = signBytes(null, Buffer.from(text), this.#key);
    const line = Buffer.concat([keyId(origin, ED25519, this.publicKey), signature]).toString('base64');
    return `— ${origin} ${line}\n`;
  }
}

function seedIn(pem: string): Buffer {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return key.export({ format: 'der', type: 'pkcs8' }).subarray(-KEY_BYTES);
  } catch {
    // The reason could show the text.
  }
  throw new FormatInvalid('The signing key is not an Ed25519 key: make one with openssl genpkey -algorithm ed25519.');
}

/**
 * Verifies the signatures of the given keys and ignores others. Throws `NoteInvalid` if there is none of them, or a wrong one;
 * `FormatInvalid` if the text is no note.
 */
export function openNote(note: string, vkeys: readonly string[]): OpenNote {
  const { text, lines } = splitNote(note);
  const known = vkeys.map((vkey) => ({ vkey, ...parseVkey(vkey) }));
  const signatures = new Map<string, NoteSignature>();
  for (const { name, bytes } of lines) {
    const id = bytes.subarray(0, ID_BYTES);
    const key = known.find((candidate) => candidate.name === name && candidate.id.equals(id));
    if (!key || signatures.has(key.vkey)) continue;
    const time = verified(key, text, bytes.subarray(ID_BYTES));
    signatures.set(key.vkey, { name, vkey: key.vkey, ...(time !== undefined && { time }) });
  }
  if (!signatures.size) {
    const signers = lines.map(({ name, bytes }) => `${name}+${bytes.toString('hex', 0, ID_BYTES)}`).join(', ');
    throw new NoteInvalid(`No trusted key signed the note, only ${signers}.`);
  }
  return { text, signatures: [...signatures.values()] };
}

/** Verifies nothing. */
export function splitNote(note: string): { text: string; lines: { name: string; bytes: Buffer }[] } {
  if (/[\u0000-\u0009\u000b-\u001f]/.test(note)) throw new FormatInvalid('The note has control characters.');
  const end = note.lastIndexOf('\n\n') + 1;
  const rows = note.slice(end + 1).split('\n');
  if (end === 0 || rows.pop() !== '' || !rows.length)
    throw new FormatInvalid('The note does not consist of a text, an empty line and signature lines.');
  if (rows.length > MAX_SIGNATURES) throw new FormatInvalid(`The note has more than ${MAX_SIGNATURES} signatures.`);
  return { text: note.slice(0, end), lines: rows.map(signatureIn) };
}

function signatureIn(row: string): { name: string; bytes: Buffer } {
  const [dash, name = '', base64 = '', ...others] = row.split(' ');
  const bytes = fromBase64(base64);
  if (dash !== '—' || !NAME.test(name) || !bytes || bytes.length <= ID_BYTES || others.length)
    throw new FormatInvalid(`The note has the line "${row}", not a signature.`);
  return { name, bytes };
}

/** The time of a cosignature. */
function verified({ name, type, publicKey }: Vkey, text: string, signature: Buffer): number | undefined {
  const isTimed = type === COSIGNATURE;
  const seconds = isTimed && signature.length >= 8 ? Number(signature.readBigUInt64BE()) : 0;
  const signed = isTimed ? `cosignature/v1\ntime ${seconds}\n${text}` : text;
  const bytes = isTimed ? signature.subarray(8) : signature;
  const key = createPublicKey({ key: Buffer.concat([SPKI_PREFIX, publicKey]), format: 'der', type: 'spki' });
  if (bytes.length !== SIGNATURE_BYTES || !verifyBytes(null, Buffer.from(signed), key, bytes))
    throw new NoteInvalid(`The signature of ${name} is not one of this note: the note or the signature was changed.`);
  return isTimed ? seconds * 1000 : undefined;
}
