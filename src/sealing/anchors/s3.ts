import { createHmac } from 'node:crypto';
import { exchange } from '../../platform/exchange.js';
import { sha256 } from '../../tlog/hash.js';
import { ANCHOR_LIMITS, type Anchor, type AnchoredCheckpoint } from './anchor.js';

interface S3Place {
  readonly bucket: string;
  /** Of all keys; empty, or ends in a slash. */
  readonly prefix: string;
  readonly region: string;
  /** Without a path. Undefined: that of AWS. */
  readonly endpoint: string | undefined;
  /** For how long nobody can delete a checkpoint. */
  readonly days: number;
  readonly credentials: S3Credentials;
}

interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of temporary credentials. */
  readonly sessionToken: string | undefined;
}

const DAY_MS = 86_400_000;
/** So that keys sort as sizes do. */
const SIZE_DIGITS = 16;

/**
 * Puts each checkpoint as an object of its own, locked in mode COMPLIANCE: no user can delete it before, the owner included.
 * The bucket must have Object Lock; a bucket without it refuses the request.
 */
export class S3Anchor implements Anchor {
  readonly name: string;

  constructor(
    private readonly place: S3Place,
    private readonly now: () => number = Date.now,
  ) {
    this.name = `s3://${place.bucket}/${place.prefix}`;
  }

  async put({ note, origin, size }: AnchoredCheckpoint): Promise<void> {
    const { bucket, prefix, region, endpoint, days } = this.place;
    const key = `${prefix}${origin}/${String(size).padStart(SIZE_DIGITS, '0')}`;
    // A name with dots has no certificate of its own; other servers have no names for buckets.
    const isHost = endpoint === undefined && !bucket.includes('.');
    const server = endpoint ?? `https://${isHost ? `${bucket}.` : ''}s3.${region}.amazonaws.com`;
    const url = new URL(`/${isHost ? '' : `${bucket}/`}${key.split('/').map(encoded).join('/')}`, server);
    const body = Buffer.from(note);
    const headers = {
      'content-type': 'text/plain; charset=utf-8',
      'x-amz-checksum-sha256': sha256(body).toString('base64'),
      'x-amz-sdk-checksum-algorithm': 'SHA256',
      'x-amz-object-lock-mode': 'COMPLIANCE',
      'x-amz-object-lock-retain-until-date': new Date(this.now() + days * DAY_MS).toISOString(),
    };
    const signed = signedPut(url, headers, body, this.place, this.now());
    const answer = await exchange(url.href, { method: 'PUT', headers: signed, body, ...ANCHOR_LIMITS });
    if (answer.status === 200) return;
    const [, code = ''] = /<Code>(\w+)<\/Code>/.exec(answer.body.toString()) ?? [];
    throw new Error(`${this.name} answered ${answer.status} ${code}`.trimEnd());
  }
}

/**
 * The headers of a PUT with AWS Signature Version 4. Own code, because this one request is all that is sent: `@aws-sdk/client-s3`
 * has 26 packages of 22 MB, and `aws4fetch` signs with WebCrypto what Node hashes in a line.
 */
function signedPut(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
  { region, credentials }: Pick<S3Place, 'region' | 'credentials'>,
  now: number,
): Record<string, string> {
  const time = new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '');
  const day = time.slice(0, 8);
  const sent: Record<string, string> = {
    ...headers,
    host: url.host,
    'x-amz-content-sha256': sha256(body).toString('hex'),
    'x-amz-date': time,
    ...(credentials.sessionToken !== undefined && { 'x-amz-security-token': credentials.sessionToken }),
  };
  const names = Object.keys(sent).sort();
  const lines = names.map((name) => `${name}:${sent[name]}\n`).join('');
  const request = ['PUT', url.pathname, '', lines, names.join(';'), sent['x-amz-content-sha256']].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(Buffer.from(request)).toString('hex')].join('\n');
  const key = [day, region, 's3', 'aws4_request'].reduce<Uint8Array>(
    mac,
    Buffer.from(`AWS4${credentials.secretAccessKey}`),
  );
  const signature = mac(key, toSign).toString('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
  return { ...sent, authorization };
}

function mac(key: Uint8Array, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** As the signature demands: more than `encodeURIComponent` encodes. */
function encoded(segment: string): string {
  return encodeURIComponent(segment).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
