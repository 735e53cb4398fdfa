import { type ControlRecord, emptyFold, foldRecord, readFold, versionOf } from '../../src/control/fold.js';
import { imageOf, restoreFold } from '../../src/control/fold-image.js';
import { KNOWN_MS } from '../../src/control/known-commands.js';
import type { ControlEvent, GroupState } from '../../src/model/control-events.js';
import { begun } from '../../src/model/resource.js';
import { AT, at, recordOf } from '../spec/decider.js';
import fc from '../support/fast-check.js';
import { seeded } from './arbitraries.js';

interface Step {
  readonly name: string;
  readonly what: 'created' | 'edited' | 'deleted';
  readonly expects: number;
  readonly command: string;
  readonly ms: number;
}

const steps = fc.array(
  fc.record<Step>({
    name: fc.nat(8).map((n) => `group-${n}`),
    what: fc.constantFrom('created', 'edited', 'deleted'),
    expects: fc.nat(6),
    command: fc.nat(60).map((n) => `command ${n}`),
    ms: fc.oneof(fc.nat(1_000), fc.constantFrom(KNOWN_MS / 2, KNOWN_MS)),
  }),
  { minLength: 1, maxLength: 150, size: 'max' },
);

function recordsOf(all: readonly Step[]): { readonly record: ControlRecord; readonly time: number }[] {
  let time = 0;
  return all.map(({ name, what, expects, command, ms }, index) => {
    time += ms;
    const common = {
      org: 'acme',
      name,
      description: `${index}`,
      tags: {},
      origin: 'default',
      memberLinks: [],
    } as const;
    const data: GroupState = { ...begun(`id ${index}`, AT), ...common };
    const stream = `group/acme/${name}` as const;
    const event: ControlEvent = { type: `group-${what}`, stream, auditId: `a ${index}`, data };
    return { record: recordOf(command, [event], expects < 3 ? { [stream]: expects } : {}), time };
  });
}

test('a fold that goes on from an image is the fold of all records, in every outcome', () => {
  fc.assert(
    fc.property(steps, fc.nat(), (all, cut) => {
      const records = recordsOf(all);
      const half = cut % records.length;
      const [whole, first, resumed] = [emptyFold(), emptyFold(), emptyFold()];
      const outcomes = records.map(({ record, time }, offset) => {
        if (offset < half) foldRecord(first, record, at(offset, time));
        return foldRecord(whole, record, at(offset, time));
      });
      // As a file keeps it: nothing of it is shared.
      restoreFold(resumed, structuredClone(imageOf(first)));
      for (const [index, { record, time }] of records.slice(half).entries()) {
        const offset = half + index;
        expect(foldRecord(resumed, record, at(offset, time))).toBe(outcomes[offset]);
      }
      expect([...resumed.streams]).toEqual([...whole.streams]);
      expect([...resumed.families].map(([family, members]) => [family, [...members]])).toEqual(
        [...whole.families].map(([family, members]) => [family, [...members]]),
      );
      expect(readFold(resumed).all('group', 'acme')).toEqual(readFold(whole).all('group', 'acme'));
      for (const { name, command } of all) {
        const stream = `group/acme/${name}` as const;
        expect(versionOf(resumed, stream)).toBe(versionOf(whole, stream));
        expect(resumed.commands.offsetOf(command)).toBe(whole.commands.offsetOf(command));
      }
    }),
    seeded<[Step[], number]>(300),
  );
});

test('an image stays as it is while the fold goes on', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const fold = emptyFold();
      const records = recordsOf(all);
      const half = Math.floor(records.length / 2);
      const fill = (from: number, to: number) => {
        for (const [index, { record, time }] of records.slice(from, to).entries()) {
          foldRecord(fold, record, at(from + index, time));
        }
      };
      fill(0, half);
      const image = imageOf(fold);
      const before = structuredClone(image);
      fill(half, records.length);
      expect(image).toEqual(before);
    }),
    seeded<[Step[]]>(100),
  );
});
