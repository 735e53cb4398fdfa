import type { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Readiness } from '../readiness.js';

/** A client that has taken nothing for so long is given up. */
const STALLED_MS = 60_000;
const LOOK_MS = 500;

/**
 * Sends a long answer as fast as the client takes it. Whatever ends it before its own end (a fault of the stream, a
 * client that reads no more, a process that stops) cuts the connection, so that no client takes a part for the whole.
 * A client that goes away ends the stream.
 */
export function sendStreamed(reply: FastifyReply, stream: Readable, readiness: Readiness): void {
  const { raw } = reply;
  let taken = 0;
  let since = performance.now();
  const watch = setInterval(() => {
    const now = performance.now();
    const bytes = raw.socket?.bytesWritten ?? 0;
    if (bytes !== taken) since = now;
    taken = bytes;
    if (readiness.isStopping) raw.destroy(new Error('the process stops'));
    else if (now - since > STALLED_MS) raw.destroy(new Error('the client reads no more'));
  }, LOOK_MS);
  raw.once('close', () => clearInterval(watch));
  reply.send(stream);
}
