import { mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { exchange } from '../../platform/exchange.js';
import { sha256 } from '../../tlog/hash.js';
import { ANCHOR_LIMITS, type Anchor, type AnchoredCheckpoint } from './anchor.js';

/** TimeStampReq of RFC 3161 up to the 32 bytes of the SHA-256: version 1, the algorithm. */
const REQUEST = Buffer.from('3039020101' + '3031300d060960864801650304020105000420', 'hex');
/** certReq: the answer has the certificate, so that it can be checked by itself. */
const CERT_REQUEST = Buffer.from('0101ff', 'hex');

/**
 * Has a timestamp authority (RFC 3161) sign when a checkpoint existed. The answer is kept beside the note, as
 * `<size>.tsr` and `<size>.note`: `openssl ts -verify -in <size>.tsr -data <size>.note -CAfile ...` checks it.
 */
export class TsaAnchor implements Anchor {
  readonly name: string;
  readonly #folder: string;

  constructor(
    private readonly url: URL,
    folder: string,
  ) {
    this.name = `tsa:${url.origin}`;
    this.#folder = join(folder, url.host.replace(/[^\w.-]/g, '_'));
  }

  async put({ note, origin, size }: AnchoredCheckpoint): Promise<void> {
    const hash = sha256(Buffer.from(note));
    const { status, contentType, body } = await exchange(this.url.href, {
      method: 'POST',
      headers: { 'content-type': 'application/timestamp-query' },
      body: Buffer.concat([REQUEST, hash, CERT_REQUEST]),
      ...ANCHOR_LIMITS,
    });
    if (status !== 200 || contentType !== 'application/timestamp-reply')
      throw new Error(`${this.name} answered ${status} ${contentType}`.trimEnd());
    const granted = statusOf(body);
    if (granted === undefined || granted > 1)
      throw new Error(`${this.name} granted no timestamp: its status is ${granted ?? 'not readable'}`);
    if (!body.includes(hash)) throw new Error(`the timestamp of ${this.name} is not of this checkpoint`);
    const folder = join(this.#folder, origin.replace(/[^\w.-]/g, '_'));
    await mkdir(folder, { recursive: true });
    await keep(join(folder, `${size}.note`), Buffer.from(note));
    await keep(join(folder, `${size}.tsr`), body);
  }
}

/** The PKIStatus of a TimeStampResp: 0 granted, 1 granted with modifications. */
function statusOf(answer: Buffer): number | undefined {
  const inResponse = contentOf(answer);
  const inInfo = inResponse && contentOf(inResponse);
  return inInfo?.[0] === 0x02 && inInfo[1] === 1 ? inInfo[2] : undefined;
}

/** Of a DER sequence; what follows it is not cut off. */
function contentOf(der: Buffer): Buffer | undefined {
  const [tag, length = 0] = der;
  return tag === 0x30 ? der.subarray(length < 0x80 ? 2 : 2 + (length & 0x7f)) : undefined;
}

/** Whole or not at all, also after a crash. */
async function keep(path: string, bytes: Uint8Array): Promise<void> {
  {
    await using file = await open(`${path}.part`, 'w');
    await file.writeFile(bytes);
    await file.sync();
  }
  await rename(`${path}.part`, path);
}
