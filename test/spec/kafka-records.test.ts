import { CorruptRecord, type LogEntry } from '../../src/event-log/event-log.js';
import { crc32c, decodeRecords } from '../../src/event-log/kafka/records.js';
import fc from '../support/fast-check.js';

type Written = Pick<LogEntry, 'key' | 'headers'> & { readonly value: Uint8Array };

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

const A: Written = { key: 'k', value: Buffer.from('v'), headers: {} };

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
