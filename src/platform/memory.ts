import { getHeapStatistics } from 'node:v8';

export const MIB = 1024 * 1024;

/** A heap that is full needs about half as much beside it: for code, buffers and what the allocator keeps. */
const BESIDE_THE_HEAP = 1.5;

/** Bytes that this process may take: by the limit of its container, and by that of its heap. */
export function memoryLimit(): number {
  return Math.min(
    process.constrainedMemory() || Number.POSITIVE_INFINITY,
    getHeapStatistics().heap_size_limit * BESIDE_THE_HEAP,
  );
}

/**
 * What may be under way at once, in bytes, of a process with so much memory. The shares are small because a body, page or
 * batch is in memory several times: as bytes, as text, as objects, and in the buffers of a connection.
 */
export interface MemoryShares {
  /** Request bodies. */
  readonly bodies: number;
  /** Records that were fetched from Kafka and wait to be taken, of one topic. */
  readonly fetched: number;
  /** Pages of lists and exports. */
  readonly pages: number;
}

export function sharesOf(memory: number): MemoryShares {
  const share = (part: number, least: number, most: number) =>
    Math.min(most * MIB, Math.max(least * MIB, Math.floor(memory * part)));
  return {
    bodies: share(1 / 16, 8, 1_024),
    fetched: share(1 / 64, 4, 48),
    pages: share(1 / 16, 16, 192),
  };
}
