import { DigestTable } from '../../src/control/digest-table.js';
import { KNOWN_MS, KNOWN_RECORDS, KnownCommands, type LogPosition } from '../../src/control/known-commands.js';
import fc from '../support/fast-check.js';
import { seeded } from './arbitraries.js';

interface Step {
  readonly command: string;
  readonly offsets: number;
  readonly ms: number;
}

/** Records, each so many offsets and so long after the one before; clocks go back now and then. */
const steps = fc.array(
  fc.record({
    command: fc.nat(300).map((n) => `command ${n}`),
    offsets: fc.oneof({ weight: 20, arbitrary: fc.constant(1) }, fc.integer({ min: 1, max: KNOWN_RECORDS * 1.1 })),
    ms: fc.oneof(
      { weight: 20, arbitrary: fc.integer({ min: -1_000, max: KNOWN_MS / 50 }) },
      fc.constantFrom(KNOWN_MS - 1, KNOWN_MS, KNOWN_MS + 1, -KNOWN_MS),
    ),
  }),
  { maxLength: 600, size: 'max' },
);

function placesOf(all: readonly Step[]): (LogPosition & { readonly command: string })[] {
  let [offset, time] = [-1, 1_700_000_000_000];
  return all.map(({ command, offsets, ms }) => {
    offset += offsets;
    time += ms;
    return { command, offset, time };
  });
}

/** The rule, told without regard to memory: of all records before, which applied the command within the window. */
function oracle(records: ReturnType<typeof placesOf>): (number | undefined)[] {
  let clock = 0;
  const applied: { readonly command: string; readonly offset: number; readonly clock: number }[] = [];
  return records.map(({ command, offset, time }) => {
    clock = Math.max(clock, time);
    const known = applied.findLast(
      (one) => one.command === command && clock - one.clock < KNOWN_MS && offset - one.offset < KNOWN_RECORDS,
    );
    if (!known) applied.push({ command, offset, clock });
    return known?.offset;
  });
}

test('a command is known exactly within its window, however often the memory was renewed', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const records = placesOf(all);
      const commands = new KnownCommands();
      const known = records.map((record) => {
        commands.advance(record);
        const offset = commands.offsetOf(record.command);
        if (offset === undefined) commands.add(record.command);
        return offset;
      });
      expect(known).toEqual(oracle(records));
    }),
    seeded<[Step[]]>(200),
  );
});

test('a table of digests is a map of its texts', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string({ maxLength: 3 }), fc.nat()), { maxLength: 2_000, size: 'max' }), (all) => {
      const table = new DigestTable<readonly [number]>(1);
      const map = new Map<string, number>();
      for (const [text, number] of all) {
        table.set(text, [number]);
        map.set(text, number);
      }
      expect([...map.keys()].map((text) => table.get(text))).toEqual([...map.values()].map((number) => [number]));
      expect(table.get('none of them')).toBeUndefined();
    }),
    seeded<[[string, number][]]>(100),
  );
});
