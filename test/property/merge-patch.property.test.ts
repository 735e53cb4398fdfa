import { mergePatch, patchedList } from '../../src/model/json.js';
import fc from '../support/fast-check.js';
import { jsonValue, seeded } from './arbitraries.js';

type Json = Record<string, unknown>;

/** Few names and few values, so that documents and patches meet. */
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom<unknown>(null, true, 0, 'x', 'y', [], {}),
    fc.array(tie('tree'), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', ''), tie('tree'), { maxKeys: 4, noNullPrototype: true }),
  ),
}));
const any = fc.oneof({ weight: 4, arbitrary: tree }, { weight: 1, arbitrary: jsonValue });

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The pseudocode of RFC 7396, section 2, line by line. */
function reference(target: unknown, patch: unknown): unknown {
  if (isObject(patch)) {
    let result = target;
    if (!isObject(result)) result = {};
    const members = { ...(result as Json) };
    for (const name in patch) {
      if (patch[name] === null) {
        if (name in members) delete members[name];
      } else {
        members[name] = reference(Object.hasOwn(members, name) ? members[name] : undefined, patch[name]);
      }
    }
    return members;
  }
  return patch;
}

/** A patch that makes the one document the other; null within documents cannot be told by a patch. */
function patchBetween(before: Json, after: Json): Json {
  const patch: Json = {};
  for (const name of Object.keys(before)) if (!Object.hasOwn(after, name)) patch[name] = null;
  for (const [name, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, name) ? before[name] : undefined;
    patch[name] = isObject(value) && isObject(old) ? patchBetween(old, value) : value;
  }
  return patch;
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value) || !isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== null)
      .map(([name, member]) => [name, withoutNulls(member)]),
  );
}

test('a merge is that of RFC 7396, and leaves its arguments alone', () => {
  fc.assert(
    fc.property(any, any, (target, patch) => {
      const [targetBefore, patchBefore] = [JSON.stringify(target), JSON.stringify(patch)];
      expect(mergePatch(target, patch)).toEqual(reference(target, patch));
      expect([JSON.stringify(target), JSON.stringify(patch)]).toEqual([targetBefore, patchBefore]);
    }),
    seeded(3_000),
  );
});

test('a patch leads from any document to any other', () => {
  fc.assert(
    fc.property(any, any, (one, other) => {
      const [before, after] = [withoutNulls({ one }), withoutNulls({ one: other, two: other })] as [Json, Json];
      expect(mergePatch(before, patchBetween(before, after))).toEqual(after);
    }),
    seeded(2_000),
  );
});

test('a patch applied twice is applied once', () => {
  fc.assert(
    fc.property(any, any, (target, patch) => {
      const once = mergePatch(target, patch);
      expect(mergePatch(once, patch)).toEqual(once);
    }),
    seeded(1_000),
  );
});

const list = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 6 });
const distinct = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'));
const operators = fc.record(
  { $append: list, $drop: list, $replace: distinct },
  { requiredKeys: [], noNullPrototype: true },
);

test('a patched list has what it is to have, and keeps its sequence', () => {
  fc.assert(
    fc.property(distinct, operators, (before, patch) => {
      const { list: after, faults } = patchedList(before, patch, '') ?? { list: [], faults: ['none'] };
      expect(faults).toEqual([]);
      const base = patch.$replace ?? before;
      const left = base.filter((element) => !(patch.$drop ?? []).includes(element));
      expect(after.slice(0, left.length)).toEqual(left);
      expect(new Set(after)).toEqual(new Set([...left, ...(patch.$append ?? [])]));
    }),
    seeded(2_000),
  );
});
