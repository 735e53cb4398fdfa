import { Readable, type Transform } from 'node:stream';
import { constants, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import type { FastifyRequest, preParsingHookHandler, RequestPayload } from 'fastify';
import { ControlError } from '../../contract/errors.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a route with `packed`: the `Content-Type` as it was sent. */
    sentType: string;
  }
}

/** The body of a route with `packed`. */
export interface PackedBody {
  /** The `Content-Type`, which may be any, or empty. */
  readonly type: string;
  /** Without its `Content-Encoding`. */
  readonly bytes: Buffer;
}

/** It counts the bytes that it took, and ends behind the first frame that others follow in the same piece. */
type Decoder = Transform & { readonly bytesWritten: number };

/** RFC 9659: no more is needed to unpack what is meant for HTTP. */
const WINDOW_LOG = 23;

const DECODERS: Readonly<Record<string, () => Decoder>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  deflate: () => createInflate(),
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG } }),
};

/** Each costs a decoder, though it may have no content. */
const MOST_FRAMES = 1_000;

/** The refusal of a request whose body has an encoding that its route does not take. */
export function refusedEncoding({ headers, routeOptions }: FastifyRequest): ControlError | undefined {
  const encoding = encodingIn(headers);
  if (encoding === '') return undefined;
  const { packed } = routeOptions.config;
  if (packed && DECODERS[encoding]) return undefined;
  const remedy = packed ? 'Content-Encoding: gzip, zstd or deflate, or without' : 'the body without Content-Encoding';
  const refused = packed ? `the Content-Encoding ${encoding} is not known` : 'compressed bodies are not accepted';
  return new ControlError('unsupported_media_type', `${refused}; send ${remedy}`);
}

/** Without `identity` and empty items, which change nothing. Empty for a body that is not packed. */
function encodingIn(headers: FastifyRequest['headers']): string {
  const encodings = (headers['content-encoding'] ?? '').toLowerCase().split(',');
  return encodings
    .map((encoding) => encoding.trim())
    .filter((encoding) => encoding !== '' && encoding !== 'identity')
    .join(', ');
}

/**
 * Unpacks the body of a route with `packed` as it comes, whatever its type. No more is unpacked than is read, so whoever
 * reads bounds it.
 */
export const unpackBody: preParsingHookHandler = (request, reply, payload, done) => {
  const { packed } = request.routeOptions.config;
  if (!packed) return done(null, payload);
  const { headers } = request.raw;
  request.sentType = headers['content-type'] ?? '';
  // What parses it is chosen by its type, and a type that is none would be refused.
  headers['content-type'] = 'application/x-ndjson';
  const create = DECODERS[encodingIn(headers)];
  if (!create) return done(null, payload);
  const taken = { receivedEncodedLength: 0 };
  const stream: RequestPayload = Readable.from(unpacked(payload, create, taken, request), { objectMode: false });
  Object.defineProperty(stream, 'receivedEncodedLength', { get: () => taken.receivedEncodedLength });
  reply.raw.once('close', () => stream.destroy());
  done(null, stream);
};

/** Of all frames, one after the other. Throws `malformed_encoding`. */
async function* unpacked(
  payload: Readable,
  create: () => Decoder,
  taken: { receivedEncodedLength: number },
  { routeOptions: { bodyLimit } }: FastifyRequest,
): AsyncGenerator<Buffer> {
  // The response still needs the connection.
  const pieces: AsyncIterator<Buffer> = payload.iterator({ destroyOnReturn: false });
  const next = async () => {
    const { value, done } = await pieces.next();
    if (done) return undefined;
    taken.receivedEncodedLength += value.length;
    if (taken.receivedEncodedLength > bodyLimit) throw tooLarge(bodyLimit);
    return value;
  };
  try {
    let piece = await next();
    for (let frames = 0; piece; frames += 1) {
      if (frames === MOST_FRAMES) throw malformed(`it has more than ${MOST_FRAMES} frames`);
      const decoder = create();
      const feeding = feed(decoder, piece, next);
      try {
        yield* decoder;
        piece = await feeding;
      } catch (error) {
        throw error instanceof ControlError ? error : malformed((error as Error).message);
      } finally {
        decoder.destroy();
      }
    }
  } finally {
    // A client may send the rest of a body that was refused: it is thrown away, so that the client reads the response.
    const left = () => payload.resume();
    pieces.return?.().then(left, left);
  }
}

/** Resolves, when the decoder ends, with what comes behind its last frame. */
async function feed(
  decoder: Decoder,
  first: Buffer,
  next: () => Promise<Buffer | undefined>,
): Promise<Buffer | undefined> {
  const ended = new Promise<void>((resolve) => decoder.once('close', resolve));
  let fed = 0;
  for (let piece: Buffer | undefined = first; piece; ) {
    fed += piece.length;
    const written = piece;
    await Promise.race([new Promise((resolve) => decoder.write(written, resolve)), ended]);
    // What a decoder did not take is behind the end of its frame.
    const left = fed - decoder.bytesWritten;
    if (left > 0) return piece.subarray(-left);
    try {
      piece = await next();
    } catch (error) {
      decoder.destroy(error as Error);
      return undefined;
    }
  }
  decoder.end();
  return undefined;
}

function malformed(why: string): ControlError {
  return new ControlError(
    'malformed_encoding',
    `the body is not what its Content-Encoding says: ${why}; nothing was recorded; send it whole, and packed once`,
  );
}

function tooLarge(bytes: number): ControlError {
  return new ControlError(
    'payload_too_large',
    `the body has more than ${bytes} bytes, packed; send fewer lines at once`,
  );
}
