import { type Candidate, compareSortKeys, compareText, matches, sortKeyOf, type Term } from '../../src/model/query.js';

// The operators on the whole way are asked in `test/http/queries.table.ts`; here is what the front door cannot show.

const candidate = (resource: Candidate['resource'], related: Candidate['related'] = () => false): Candidate => ({
  resource,
  related,
});
const holds = (term: Term, resource: Candidate['resource']) => matches({ terms: [term] }, candidate(resource));

describe('a term', () => {
  it.each<[string, Term, unknown, boolean]>([
    ['a number and infinity', { op: '<', property: 'a', value: Number.POSITIVE_INFINITY }, 1, true],
    ['a number and a text of spaces', { property: 'a', value: '  ' }, 0, false],
    ['a number and a flag', { property: 'a', value: true }, 1, false],
    ['a flag and a number', { property: 'a', value: 1 }, true, false],
    ['a text and a number', { property: 'a', value: 10 }, '10', true],
    ['a text and a number, in an order of texts', { op: '<', property: 'a', value: 9 }, '10', true],
    ['null', { op: 'exists', property: 'a' }, null, true],
    ['null and a text', { property: 'a', value: 'null' }, null, false],
    ['null and another text', { op: '!=', property: 'a', value: 'x' }, null, true],
    [
      'a time and the same beyond the millisecond',
      { property: 'a', value: '2026-01-01T00:00:00.000000Z' },
      '2026-01-01T00:00:00Z',
      true,
    ],
    ['a time and what is none', { op: '>', property: 'a', value: '2026-13-01' }, '2026-01-01T00:00:00Z', false],
    ['what is no time and a time', { op: '<', property: 'a', value: '2026-01-01T00:00:00Z' }, '2026', true],
  ])('compares %s', (_what, term, value, expected) => {
    expect(holds(term, { a: value })).toBe(expected);
  });

  it('looks at own members only, never at what the language adds', () => {
    for (const property of [
      'toString',
      '__proto__',
      'a.length',
      'b.length',
      'constructor',
      'b.constructor.name',
      '',
      '.',
      'a.',
    ]) {
      expect([property, holds({ op: 'exists', property }, { a: 'text', b: [1] })]).toEqual([property, false]);
    }
    expect(holds({ op: 'exists', tag: 'toString' }, { tags: {} })).toBe(false);
    expect(holds({ op: '!exists', tag: 'a' }, {})).toBe(true);
  });

  it('asks for a relation by its name and the value as a text', () => {
    const asked: string[] = [];
    const related = (rel: string, value: string) => {
      asked.push(`${rel} ${value}`);
      return true;
    };
    const is: Term = { rel: 'group', value: 7 };
    expect(matches({ terms: [is] }, candidate({}, related))).toBe(true);
    expect(matches({ terms: [{ ...is, op: '!=' }] }, candidate({}, related))).toBe(false);
    expect(asked).toEqual(['group 7', 'group 7']);
  });
});

describe('the order of texts', () => {
  it('is by code point, not by code unit', () => {
    // U+FF5E comes before U+1F600, whose first code unit is U+D83D.
    expect(compareText('～', '😀')).toBe(-1);
    expect(compareText('😀', '～')).toBe(1);
    expect([compareText('a', 'ab'), compareText('ab', 'a'), compareText('a', 'a'), compareText('', 'a')]).toEqual([
      -1, 1, 0, -1,
    ]);
  });
});

describe('the order of all scalars', () => {
  const SORTED = [false, true, -1, 0, 1.5, 10, '', '10', '9', 'A', 'a', 'ä', '～', '😀'];

  it('is a total order', () => {
    for (const [one, a] of SORTED.entries()) {
      for (const [other, b] of SORTED.entries()) expect(compareSortKeys(a, b)).toBe(Math.sign(one - other));
    }
  });

  it('places only scalars', () => {
    const resource = { a: { b: [1, 'x'] }, n: null };
    expect(['a', 'a.b', 'n', 'a.b.1', 'none'].map((path) => sortKeyOf(resource, path))).toEqual([
      undefined,
      undefined,
      undefined,
      'x',
      undefined,
    ]);
  });
});
