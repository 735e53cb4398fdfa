import { createHash } from 'node:crypto';
import { type Fault, type Item, Occurrences, readItems } from '../../src/cli/publish/items.js';
import { LARGEST_PIECE, readPieces } from '../../src/cli/publish/pieces.js';

async function* inChunks(text: string | Buffer, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text as string);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(text: string | Buffer, size = 7): Promise<(Item | Fault)[]> {
  const all: (Item | Fault)[] = [];
  for await (const item of readItems(readPieces(inChunks(text, size)))) all.push(item);
  return all;
}

const shown = (items: (Item | Fault)[]) => items.map((item) => [item.line, 'event' in item ? item.event : item.fault]);
const sha = (text: string) => createHash('sha256').update(text).digest('hex');

describe('the events of a file', () => {
  it.each([1, 2, 3, 7, 1000])('NDJSON, in chunks of %d', async (size) => {
    const items = await read(
      '\ufeff{"resource":{"name":"é"}}\r\n\n  \n{"source":"s","event":{"n":1.10}}\n{"a":"]}"}',
      size,
    );
    expect(shown(items)).toEqual([
      [1, '{"resource":{"name":"é"}}'],
      [4, '{"n":1.10}'],
      [5, '{"a":"]}"}'],
    ]);
  });

  it.each([1, 2, 5, 1000])('a JSON array, in chunks of %d', async (size) => {
    const items = await read('\n[\n {"a":\n  [1,"]"]} ,\n{"b":"\\"}"},3\n]\n', size);
    expect(shown(items)).toEqual([
      [3, '{"a":\n  [1,"]"]}'],
      [5, '{"b":"\\"}"}'],
      [5, 'not a JSON object'],
    ]);
  });

  it.each([1, 4, 1000])('one document over several lines, or several, in chunks of %d', async (size) => {
    const items = await read('{\n  "a": 1\n}\n{\n  "b": 2\n}', size);
    expect(shown(items)).toEqual([
      [1, '{\n  "a": 1\n}'],
      [4, '{\n  "b": 2\n}'],
    ]);
  });

  it('an empty file or array has none', async () => {
    expect(await read('')).toEqual([]);
    expect(await read(' \n ')).toEqual([]);
    expect(await read('[ ]\n')).toEqual([]);
  });

  it('names the line of every fault and goes on', async () => {
    expect(shown(await read('{"a":1}\nnonsense\n"text"\n{"b":1}')).map(([line]) => line)).toEqual([1, 2, 3, 4]);
    expect(shown(await read('[{"a":1},\n,{"b":1}\n] x'))).toEqual([
      [1, '{"a":1}'],
      [2, 'an element is missing before this comma or bracket'],
      [2, '{"b":1}'],
      [3, 'there is text after the end of the array'],
    ]);
    expect(shown(await read('[{"a":1},\n{"b":'))).toEqual([
      [1, '{"a":1}'],
      [2, 'the file ends before the array is closed'],
    ]);
    expect(shown(await read(Buffer.from([0x22, 0xff, 0x22, 0x0a])))).toEqual([[1, 'not UTF-8']]);
  });

  it('skips a line that is too large without keeping it in memory', async () => {
    const large = `{"a":"${'x'.repeat(LARGEST_PIECE)}"}`;
    expect(shown(await read(`${large}\n{"b":1}\n`, 65_536))).toEqual([
      [1, 'larger than 4 MiB'],
      [2, '{"b":1}'],
    ]);
    expect(shown(await read(`[${large},{"b":1}]`, 65_536))).toEqual([
      [1, 'larger than 4 MiB'],
      [1, '{"b":1}'],
    ]);
  });

  it('distinguishes equal lines by the SHA-256 of their bytes and a number', async () => {
    const items = (await read('{"a":1}\n{"b":1}\n{"a":1}\r\n')) as Item[];
    expect(items.map(({ key }) => key)).toEqual([`${sha('{"a":1}')}-1`, `${sha('{"b":1}')}-1`, `${sha('{"a":1}')}-2`]);
  });

  it('does not unwrap an event that has both `event` and `resource`', async () => {
    const text = '{"resource":{"name":"x"},"event":{}}';
    expect(shown(await read(text))).toEqual([[1, text]]);
  });
});

it('counts occurrences beyond its first size', () => {
  const counter = new Occurrences();
  const hashes = Array.from({ length: 20_000 }, (_, index) => createHash('sha256').update(String(index)).digest());
  for (const hash of hashes) expect(counter.next(hash)).toBe(1);
  for (const hash of hashes) expect(counter.next(hash)).toBe(2);
});
