import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { turnOfTheLoop } from '../../platform/waiting.js';
import type { Readiness } from '../readiness.js';

/** A client that has taken nothing for so long is given up. */
const STALLED_MS = 60_000;
const LOOK_MS = 500;

/**
 * Sends a long answer as fast as the client takes it. Whatever ends it before its own end (a fault of the stream, a
 * client that reads no more, a process that stops) cuts the connection, so that no client takes a part for the whole.
 * A client that goes away ends the stream. `ended` is called when nothing more will be sent.
 */
export function sendStreamed(reply: FastifyReply, stream: Readable, readiness: Readiness, ended = () => {}): void {
  const { raw } = reply;
  let taken = 0;
  let since = performance.now();
  const watch = setInterval(() => {
    const now = performance.now();
    const bytes = raw.socket?.bytesWritten ?? 0;
    // If nothing waits to be sent, this process is slow, not the client.
    if (bytes !== taken || raw.writableLength === 0) since = now;
    taken = bytes;
    if (readiness.isStopping) raw.destroy(new Error('the process stops'));
    else if (now - since > STALLED_MS) raw.destroy(new Error('the client reads no more'));
  }, LOOK_MS);
  raw.once('close', () => {
    clearInterval(watch);
    ended();
  });
  reply.send(stream);
}

/** Answers HEAD as GET is streamed: without a length, which is not known before the body is made. */
export function sendStreamedHead(reply: FastifyReply): void {
  reply.send(Readable.from([], { objectMode: false }));
}

/** 304. Of a HEAD Fastify would say that its GET has no content. */
export function sendNotModified(reply: FastifyReply): void {
  reply.code(304);
  if (reply.request.method === 'HEAD') sendStreamedHead(reply);
  else reply.send();
}

/** A larger answer is streamed; a smaller one is sent whole, with its length. */
const STREAMED_BYTES = 1024 * 1024;
const PIECE_CHARACTERS = 64 * 1024;

/**
 * Sends texts one after the other as one JSON document, as fast as the client takes it. Empties the list, so that what was
 * sent needs no memory any more.
 */
export function sendJsonTexts(reply: FastifyReply, texts: string[]): void {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  sendJsonPieces(reply, emptied(texts), bytes < STREAMED_BYTES);
}

/** Sends texts that are made while they are sent, or, where that is little, at once. */
export function sendJsonPieces(reply: FastifyReply, texts: Iterable<string>, atOnce: boolean): void {
  reply.header('content-type', 'application/json; charset=utf-8');
  if (atOnce) reply.send([...texts].join(''));
  else reply.send(Readable.from(whileAllowed(reply, pieces(texts)), { objectMode: false }));
}

function* emptied(texts: string[]): Generator<string> {
  for (let at = 0; at < texts.length; at += 1) {
    yield texts[at] ?? '';
    texts[at] = '';
  }
}

/** What waits for a slow client is held back from one that is no longer allowed to have it. */
async function* whileAllowed({ request }: FastifyReply, texts: Iterable<string>): AsyncGenerator<string> {
  for (const text of texts) {
    // A client that reads fast would get all of it in one turn of the loop.
    await turnOfTheLoop();
    await request.server.access.requireStill(request);
    yield text;
  }
}

/**
 * The texts in pieces that a connection takes well: short ones joined, long ones cut. What waits for a slow client is one
 * piece, not one event, and a long text is never copied into a longer one.
 */
export function* pieces(texts: Iterable<string>): Generator<string> {
  let piece = '';
  for (const text of texts) {
    if (piece.length + text.length < PIECE_CHARACTERS) {
      piece += text;
      continue;
    }
    if (piece !== '') yield piece;
    let start = 0;
    while (text.length - start >= PIECE_CHARACTERS) {
      const end = cutBefore(text, start + PIECE_CHARACTERS);
      yield text.slice(start, end);
      start = end;
    }
    piece = text.slice(start);
  }
  if (piece !== '') yield piece;
}

/** The halves of a surrogate pair are one character, and encoded together. */
function cutBefore(text: string, end: number): number {
  const isHighSurrogate = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800;
  return isHighSurrogate ? end - 1 : end;
}
