import { isUtf8 } from 'node:buffer';
import { LIMITS } from '../../contract/limits.js';
import type { SentAuditEvent } from '../../model/audit-event.js';
import type { Steps } from '../../platform/turns.js';

/** Room in an event for what stands around the raw text. */
const AROUND_BYTES = 16 * 1024;
const PART_BYTES = LIMITS.bodyBytes - AROUND_BYTES;

/** So long a reason says enough. */
const REASON_CHARACTERS = 1_000;

/**
 * The events that keep what cannot be mapped, as it came: one, or, where that would be too long for an event, several in
 * order, which together have all of it.
 */
export function* unmappedEvents(
  contextName: string,
  raw: Buffer,
  why: string,
  isBinary = false,
): Steps<SentAuditEvent[]> {
  const reason = why.slice(0, REASON_CHARACTERS).toWellFormed();
  const pieces: object[] = yield* !isBinary && (yield* isText(raw)) ? textPieces(raw) : bytePieces(raw);
  if (pieces.length === 0) pieces.push({ raw: '' });
  return pieces.map((piece, index) => {
    const parts = pieces.length > 1 ? { part: index + 1, parts: pieces.length } : {};
    return { resource: { type: 'unmapped', name: contextName, data: { ...piece, ...parts, reason } } };
  });
}

/**
 * Whether JSON has it as text. Not if that takes more than two bytes for each: control characters take six; base64 takes four
 * for three.
 */
export function* isText(raw: Buffer): Steps<boolean> {
  if (!isUtf8(raw)) return false;
  let more = 0;
  for (let start = 0; start < raw.length; start += PART_BYTES) {
    for (const byte of raw.subarray(start, start + PART_BYTES)) more += ESCAPE_BYTES[byte] as number;
    yield;
  }
  return more <= raw.length;
}

/** By byte: how much longer JSON makes it. */
const ESCAPE_BYTES = Uint8Array.from(
  { length: 256 },
  (_, byte) => JSON.stringify(String.fromCharCode(byte)).length - 3,
);

function* bytePieces(raw: Buffer): Steps<{ rawBase64: string }[]> {
  const pieces: { rawBase64: string }[] = [];
  const length = (PART_BYTES / 4) * 3;
  for (let start = 0; start < raw.length; start += length) {
    pieces.push({ rawBase64: raw.toString('base64', start, Math.min(start + length, raw.length)) });
    yield;
  }
  return pieces;
}

function* textPieces(raw: Buffer): Steps<{ raw: string }[]> {
  const pieces: { raw: string }[] = [];
  for (let start = 0; start < raw.length; ) {
    let end = beforeCharacter(raw, start + PART_BYTES);
    // Escapes make some text up to six times as long.
    while (writtenBytes(raw, start, end) > PART_BYTES)
      end = beforeCharacter(raw, start + Math.floor((end - start) / 2));
    pieces.push({ raw: raw.toString('utf8', start, end) });
    start = end;
    yield;
  }
  return pieces;
}

function writtenBytes(raw: Buffer, start: number, end: number): number {
  return Buffer.byteLength(JSON.stringify(raw.toString('utf8', start, end)));
}

/** The first place at or before `at` where a character begins, or the end. */
export function beforeCharacter(raw: Buffer, at: number): number {
  if (at >= raw.length) return raw.length;
  let place = at;
  while (((raw[place] as number) & 0xc0) === 0x80) place -= 1;
  return place;
}
