import { createHash } from 'node:crypto';
import { checkpointText, parseCheckpoint } from '../../src/tlog/checkpoint.js';
import { commitmentOf, ENTRY_BYTES, entryOf, orgSecret, saltOf } from '../../src/tlog/leaf.js';
import { nextHash, parseServiceEntry, serviceEntryText } from '../../src/tlog/service-entry.js';
import {
  entryBundle,
  parseEntryBundle,
  parseTilePath,
  TILE_HEIGHT,
  TILE_WIDTH,
  tilePath,
} from '../../src/tlog/tile.js';
import { seeded } from '../property/arbitraries.js';
import fc from '../support/fast-check.js';

const hash = (text: string | Uint8Array) => createHash('sha256').update(text).digest();
const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const time = fc.nat({ max: 8.64e15 });
const digest = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));

describe('a leaf', () => {
  const secret = Buffer.alloc(32, 7);

  test('has a salt of the organization and the place, bound byte for byte', () => {
    const key = orgSecret(secret, 'acme');
    expect(key).toEqual(hash(Buffer.concat([Buffer.from('control leaf salt v1\n'), secret, Buffer.from('acme')])));
    const place = Buffer.from('02' + '0103' + '0000000100000002' + '0004', 'hex');
    const salt = saltOf(key, { topic: 'control', partition: 0x0103, offset: 2 ** 32 + 2, rank: 4 });
    expect(salt).toEqual(hash(Buffer.concat([key, place])).subarray(0, 16));
  });

  test('has an entry of 41 bytes: format, time and commitment', () => {
    const salt = Buffer.alloc(16, 9);
    for (const length of [0, 1, 4000, 300_000, 10]) {
      const text = Buffer.alloc(length, 'x');
      const commitment = commitmentOf(salt, text);
      expect(commitment).toEqual(hash(Buffer.concat([salt, text])));
      const entry = entryOf(1_790_000_000_123, commitment);
      expect(entry).toHaveLength(ENTRY_BYTES);
      expect(entry.toString('hex')).toBe(
        `01${(1_790_000_000_123).toString(16).padStart(16, '0')}${commitment.toString('hex')}`,
      );
    }
  });
});

describe('a checkpoint', () => {
  const cuts = fc.option(fc.record({ n: count, complete: time, at: time }), { nil: undefined });
  const checkpoints = fc
    .record({ origin: fc.stringMatching(/^[a-z0-9./-]+$/), size: count, root: digest, cut: cuts })
    .map(({ cut, ...head }) => ({ ...head, ...(cut && { cut }) }));

  test('is read as it was written', () => {
    fc.assert(
      fc.property(checkpoints, (checkpoint) => {
        expect(parseCheckpoint(checkpointText(checkpoint))).toEqual(checkpoint);
      }),
      seeded(500),
    );
  });

  test('is the example of C2SP tlog-checkpoint', () => {
    const text = 'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n';
    const { origin, size, root } = parseCheckpoint(text);
    expect([origin, size, root.length]).toEqual(['example.com/behind-the-sofa', 20_852_163, 32]);
    expect(checkpointText(parseCheckpoint(text))).toBe(text);
    expect(parseCheckpoint(`${text}another extension\n`)).toEqual(parseCheckpoint(text));
  });

  test.each([
    ['no root', 'example.com\n1\n'],
    ['no newline at the end', 'example.com\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='],
    ['a size with a leading zero', 'example.com\n01\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n'],
    ['a size beyond 2^53', 'example.com\n9007199254740993\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n'],
    ['base64 that is not canonical', 'example.com\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFV=\n'],
    ['no origin', '\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n'],
    ['an empty extension line', 'example.com\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n\n'],
    [
      'a cut after the year 275760',
      'example.com\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\ncontrol-cut 1 0 8640000000000001\n',
    ],
    ['a cut with two numbers', 'example.com\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\ncontrol-cut 1 2\n'],
  ])('with %s is refused', (_, text) => {
    expect(() => parseCheckpoint(text)).toThrow('The checkpoint');
  });
});

describe('an entry of the service log', () => {
  const entries = fc.record({
    ...{ n: count, at: time, orgs: count, complete: time },
    ...{ directory: digest, next: digest, digest },
  });

  test('is read as it was written: eight lines', () => {
    fc.assert(
      fc.property(entries, (entry) => {
        const text = serviceEntryText(entry);
        expect(text.split('\n')).toHaveLength(9);
        expect(parseServiceEntry(text)).toEqual(entry);
        expect(() => parseServiceEntry(`${text}more\n`)).toThrow('The entry of the service log');
        expect(() => parseServiceEntry(text.slice(0, -1))).toThrow('The entry of the service log');
      }),
      seeded(300),
    );
  });

  test('has the partitions by topic and number', () => {
    const next = { 'control/0': 3, 'audit/10': 1, 'audit/2': 77 };
    expect(nextHash(next)).toEqual(hash('{"audit/2":77,"audit/10":1,"control/0":3}'));
  });
});

describe('a tile', () => {
  const tiles = fc.record({
    level: fc.oneof(fc.constant('entries' as const), fc.nat({ max: 63 })),
    index: count,
    width: fc.integer({ min: 1, max: TILE_WIDTH }),
  });

  test('has the path of C2SP tlog-tiles', () => {
    expect(2 ** TILE_HEIGHT).toBe(TILE_WIDTH);
    expect(tilePath({ level: 0, index: 1_234_067, width: 256 })).toBe('tile/0/x001/x234/067');
    expect(tilePath({ level: 'entries', index: 5, width: 7 })).toBe('tile/entries/005.p/7');
    expect(tilePath({ level: 1, index: 1000, width: 256 })).toBe('tile/1/x001/000');
    fc.assert(
      fc.property(tiles, (tile) => expect(parseTilePath(tilePath(tile))).toEqual(tile)),
      seeded(500),
    );
  });

  test.each([
    ...[
      'tile/0/5',
      'tile/0/x000/005',
      'tile/0/x001',
      'tile/00/005',
      'tile/64/005',
      'tile/0/005.p/0',
      'tile/0/005.p/256',
    ],
    ...['tile/0/005.p/07', 'tile/-1/005', 'tile/0/0005', 'tile/0/x01/005', 'tile/0/005/', '/tile/0/005', 'tile/0/'],
  ])('has no other path: %s', (path) => {
    expect(parseTilePath(path)).toBeUndefined();
  });

  test('of entries is read as it was written, and refused when cut off', () => {
    const entries = [Buffer.alloc(0), Buffer.from('a'), Buffer.alloc(65_535, 1)];
    const bundle = entryBundle(entries);
    expect(bundle.subarray(0, 5)).toEqual(Buffer.from('0000' + '0001' + '61', 'hex'));
    expect(parseEntryBundle(bundle)).toEqual(entries);
    for (const length of [1, 3, 4, 6, bundle.length - 1]) {
      expect(() => parseEntryBundle(bundle.subarray(0, length))).toThrow(
        'The bundle of entries ends in the midst of entry',
      );
    }
  });
});
