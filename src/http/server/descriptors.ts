import { readFileSync } from 'node:fs';

/** Descriptors kept back for files, for the clients of Kafka and Elasticsearch, and for what a request opens. */
const RESERVED = 200;

/** How many connections the process can hold, at most `wanted`: a descriptor each, and some for everything else. */
export function affordable(wanted: number, descriptors = descriptorLimit()): number {
  if (descriptors === undefined) return wanted;
  return Math.max(1, Math.min(wanted, descriptors - Math.min(RESERVED, Math.floor(descriptors / 2))));
}

/** The soft limit, which Node raises to the hard one when it starts; undefined where the system does not tell. */
function descriptorLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
