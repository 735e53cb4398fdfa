import { FormatInvalid, fromDecimal } from './text.js';

/** A tile of C2SP tlog-tiles: 256 hashes of one level, or `entries`. A partial tile has its width. */
export interface Tile {
  readonly level: number | 'entries';
  readonly index: number;
  /** 1 to 256. */
  readonly width: number;
}

export const TILE_WIDTH = 256;
/** Of the tree, that one level of tiles covers. */
export const TILE_HEIGHT = 8;

const MAX_LEVEL = 63;

/** Below the log's prefix, as `tile/0/x001/234.p/5`. */
export function tilePath({ level, index, width }: Tile): string {
  return `tile/${level}/${indexPath(index)}${width === TILE_WIDTH ? '' : `.p/${width}`}`;
}

/** Groups of three digits; all but the last begin with `x`. */
function indexPath(index: number): string {
  const digits = String(index);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g) ?? [];
  return groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join('/');
}

/** Undefined unless the path is the one of `tilePath`. */
export function parseTilePath(path: string): Tile | undefined {
  const [, kind = '', groups = '', partial = String(TILE_WIDTH)] =
    /^tile\/(entries|\d+)\/((?:x\d{3}\/)*\d{3})(?:\.p\/(\d+))?$/.exec(path) ?? [];
  const level = kind === 'entries' ? kind : (fromDecimal(kind) ?? MAX_LEVEL + 1);
  const tile: Tile = { level, index: Number(groups.replace(/[x/]/g, '')), width: Number(partial) };
  const isInRange = tile.width >= 1 && tile.width <= TILE_WIDTH && (level === 'entries' || level <= MAX_LEVEL);
  return isInRange && Number.isSafeInteger(tile.index) && tilePath(tile) === path ? tile : undefined;
}

/** Each entry after its length as two bytes. */
export function entryBundle(entries: readonly Uint8Array[]): Buffer {
  const bundle = Buffer.allocUnsafe(entries.reduce((sum, { length }) => sum + 2 + length, 0));
  let at = 0;
  for (const entry of entries) {
    at = bundle.writeUInt16BE(entry.length, at);
    bundle.set(entry, at);
    at += entry.length;
  }
  return bundle;
}

/** Views of the bundle. Throws `FormatInvalid`. */
export function parseEntryBundle(bundle: Buffer): Buffer[] {
  const entries: Buffer[] = [];
  for (let at = 0; at < bundle.length; ) {
    const start = at + 2;
    const end = start <= bundle.length ? start + bundle.readUInt16BE(at) : Number.POSITIVE_INFINITY;
    if (end > bundle.length)
      throw new FormatInvalid(`The bundle of entries ends in the midst of entry ${entries.length}.`);
    entries.push(bundle.subarray(start, end));
    at = end;
  }
  return entries;
}
