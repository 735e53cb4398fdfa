import { gzipSync, zstdCompressSync } from 'node:zlib';
import { CorruptRecord, type LogEntry } from '../../src/event-log/event-log.js';
import { crc32c, decodeRecords } from '../../src/event-log/kafka/records.js';
import fc from '../support/fast-check.js';

type Written = Pick<LogEntry, 'key' | 'headers'> & { readonly value: Uint8Array };

const A: Written = { key: 'k', value: Buffer.from('v'), headers: {} };

describe('batches of records from Kafka', () => {
  const text = fc.string({ unit: 'binary', maxLength: 12 });
  const record = fc.record({
    key: text,
    value: fc.uint8Array({ maxLength: 40 }),
    // Those of the record before, too, or some of them.
    headers: fc.oneof(
      fc.constantFrom({ v: '1' }, { v: '1', sync: '1' }, { v: '1', hash: 'a' }, { v: '1', hash: 'b' }),
      fc.dictionary(text, text, { maxKeys: 3 }).map((headers) => ({ ...headers })),
    ),
  });
  const batches = fc.array(fc.array(record, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 4 });

  test('have the checksum of the standard', () => {
    expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
    expect(crc32c(Buffer.alloc(32))).toBe(0x8a9136aa);
  });

  test('give back what was written, from any offset on', () => {
    fc.assert(
      fc.property(batches, fc.nat(8), (written, skip) => {
        const { buffer, flat } = encoded(written);
        const from = 100 + Math.min(skip, flat.length - 1);

        const { records, next, fault } = decodeRecords('audit', 3, from, buffer);

        expect(fault).toBeUndefined();
        expect(next).toBe(100 + flat.length);
        const expected = flat.map((one, index) => ({
          ...one,
          topic: 'audit',
          partition: 3,
          offset: 100 + index,
          time: 5000,
        }));
        expect(records.map((one) => ({ ...one, value: [...one.value] }))).toEqual(
          expected.slice(from - 100).map((one) => ({ ...one, value: [...one.value] })),
        );
      }),
    );
  });

  test('are skipped when they are cut off, and the records before them are returned', () => {
    fc.assert(
      fc.property(batches, fc.integer({ min: 1, max: 60 }), (written, missing) => {
        const { buffer, flat } = encoded(written);
        const last = written.at(-1)?.length ?? 0;

        const { records, next, fault } = decodeRecords('audit', 0, 100, buffer.subarray(0, buffer.length - missing));

        expect(fault).toBeUndefined();
        expect(records).toHaveLength(flat.length - last);
        expect(next).toBe(100 + flat.length - last);
      }),
    );
  });

  test('are a fault where any bit of them was altered, after all batches before', () => {
    fc.assert(
      fc.property(batches, fc.nat(), fc.integer({ min: 0, max: 7 }), (written, place, bit) => {
        const { buffer, flat, starts } = encoded(written);
        const start = starts.at(-1) ?? 0;
        // What stands before the checksum is the broker's own, and not covered: offset, length, leader epoch, version.
        const at = start + 17 + (place % (buffer.length - start - 17));
        buffer[at] = (buffer[at] ?? 0) ^ (1 << bit);
        const last = written.at(-1)?.length ?? 0;

        const { records, next, fault } = decodeRecords('audit', 0, 100, buffer);

        expect(fault).toBeInstanceOf(CorruptRecord);
        expect(records).toHaveLength(flat.length - last);
        expect(next).toBe(100 + flat.length - last);
      }),
    );
  });

  test('are a fault where their length cannot be', () => {
    for (const length of [0, -1, -13, -(2 ** 31), 2 ** 31 - 1]) {
      const { buffer } = encoded([[A]]);
      buffer.writeInt32BE(length, 8);

      expect(decodeRecords('audit', 0, 100, buffer).fault).toBeInstanceOf(CorruptRecord);
    }
  });
});

test('records that are missing between two batches are a fault', () => {
  const [first, second] = [encoded([[A], [A]]), encoded([[A], [A], [A]])];
  const buffer = Buffer.concat([first.buffer, second.buffer.subarray(second.starts[2])]);
  expect(decodeRecords('audit', 0, 100, buffer).fault).toBeUndefined();

  const torn = Buffer.concat([first.buffer.subarray(0, first.starts[1]), second.buffer.subarray(second.starts[2])]);

  expect(decodeRecords('audit', 0, 100, torn)).toMatchObject({ next: 101, fault: { name: 'CorruptRecord' } });
});

describe('a compressed batch', () => {
  const three = [A, { ...A, value: Buffer.from('w') }, { ...A, headers: { v: '1' } }];

  test.each([
    ['gzip', 1, gzipSync],
    ['zstd', 4, zstdCompressSync],
  ] as const)('by %s is read, from any offset on', (_name, codec, compress) => {
    const batch = recoded(batchOf(100, three), codec, compress);
    for (const from of [100, 102]) {
      const { records, next, fault } = decodeRecords('audit', 0, from, batch);

      expect([fault, next]).toEqual([undefined, 103]);
      expect(records.map(({ value, headers, time }) => [Buffer.from(value).toString(), headers, time])).toEqual(
        [
          ['v', {}, 5000],
          ['w', {}, 5000],
          ['v', { v: '1' }, 5000],
        ].slice(from - 100),
      );
    }
  });

  test.each([
    ['snappy', 2, 'compressed with snappy, not gzip or zstd'],
    ['lz4', 3, 'compressed with lz4, not gzip or zstd'],
    ['what nobody knows', 7, 'compressed with an unknown codec'],
    ['gzip, damaged before it was sent', 1, 'incorrect header check'],
  ] as const)('by %s is one record that says why, and those behind it are read', (_name, codec, reason) => {
    const batch = recoded(batchOf(100, three), codec, () => Buffer.from('not compressed at all'));

    const { records, next, fault } = decodeRecords('audit', 0, 100, Buffer.concat([batch, batchOf(103, [A])]));

    expect([fault, next]).toEqual([undefined, 104]);
    expect(records.map(({ offset }) => offset)).toEqual([100, 103]);
    expect(records[0]).toMatchObject({ value: batch, headers: {}, undecodable: expect.stringContaining(reason) });
    expect(records[0]?.undecodable).toContain('is a batch of 3 records that cannot be decoded');
    expect(records[1]?.undecodable).toBeUndefined();
  });

  test('that would take too much memory is one record that says so', () => {
    const batch = recoded(batchOf(100, three), 1, () => gzipSync(Buffer.alloc(17 * 1024 * 1024)));

    const { records } = decodeRecords('audit', 0, 100, batch);

    expect(records.map(({ offset, undecodable }) => [offset, undecodable !== undefined])).toEqual([[100, true]]);
  });

  test('after another that takes much memory is left to the next fetch', () => {
    const large = [{ ...A, value: Buffer.alloc(9 * 1024 * 1024) }];
    const batches = [100, 101, 102].map((base) => recoded(batchOf(base, large), 1, gzipSync));

    const { records, next } = decodeRecords('audit', 0, 100, Buffer.concat(batches));

    expect([records.length, next]).toEqual([2, 102]);
  });
});

/** The same batch with its records compressed. */
function recoded(batch: Buffer, codec: number, compress: (bytes: Buffer) => Buffer): Buffer {
  const whole = Buffer.concat([batch.subarray(0, 61), compress(batch.subarray(61))]);
  whole.writeInt32BE(whole.length - 12, 8);
  whole.writeInt16BE(whole.readInt16BE(21) | codec, 21);
  whole.writeUInt32BE(crc32c(whole.subarray(21)), 17);
  return whole;
}

/** Batches that begin at offset 100, as a broker serves them that sets the time at which it took them. */
function encoded(written: readonly (readonly Written[])[]) {
  const flat = written.flat();
  const buffers: Buffer[] = [];
  const starts: number[] = [];
  let base = 100;
  for (const records of written) {
    starts.push(Buffer.concat(buffers).length);
    buffers.push(batchOf(base, records));
    base += records.length;
  }
  return { buffer: Buffer.concat(buffers), flat, starts };
}

const LOG_APPEND_TIME = 0x08;

function batchOf(base: number, records: readonly Written[]): Buffer {
  const covered = Buffer.alloc(40);
  covered.writeInt16BE(LOG_APPEND_TIME, 0);
  covered.writeInt32BE(records.length - 1, 2);
  covered.writeBigInt64BE(4000n, 6);
  covered.writeBigInt64BE(5000n, 14);
  covered.writeInt32BE(records.length, 36);
  const body = Buffer.concat([covered, ...records.map(recordOf)]);
  const head = Buffer.alloc(21);
  head.writeBigInt64BE(BigInt(base), 0);
  head.writeInt32BE(9 + body.length, 8);
  head.writeInt8(2, 16);
  head.writeUInt32BE(crc32c(body), 17);
  return Buffer.concat([head, body]);
}

function recordOf({ key, value, headers }: Written, index: number): Buffer {
  const named = Object.entries(headers).flatMap(([name, text]) => [sized(Buffer.from(name)), sized(Buffer.from(text))]);
  const count = varint(named.length / 2);
  const timeDelta = varint(-1);
  return sized(
    Buffer.concat([Buffer.of(0), timeDelta, varint(index), sized(Buffer.from(key)), sized(value), count, ...named]),
  );
}

function sized(bytes: Uint8Array): Buffer {
  return Buffer.concat([varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value < 0 ? -value * 2 - 1 : value * 2;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return Buffer.from([...bytes, rest]);
}
