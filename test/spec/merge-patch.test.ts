import { mergePatch, patchedList } from '../../src/model/json.js';

// RFC 7396, appendix A, row by row.
const ROWS: readonly [original: unknown, patch: unknown, result: unknown][] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];

test.each(ROWS.map(([original, patch, result]) => [original, patch, result].map((one) => JSON.stringify(one))))(
  '%s patched with %s is %s',
  (original = '', patch = '', result = '') => {
    const before = JSON.parse(original);
    expect(mergePatch(before, JSON.parse(patch))).toEqual(JSON.parse(result));
    expect(before).toEqual(JSON.parse(original));
  },
);

test('the example of RFC 7396, section 3', () => {
  const original = {
    title: 'Goodbye!',
    author: { givenName: 'John', familyName: 'Doe' },
    tags: ['example', 'sample'],
    content: 'This will be unchanged',
  };
  const patch = { title: 'Hello!', phoneNumber: '+01-123-456-7890', author: { familyName: null }, tags: ['example'] };
  expect(mergePatch(original, patch)).toEqual({
    title: 'Hello!',
    author: { givenName: 'John' },
    tags: ['example'],
    content: 'This will be unchanged',
    phoneNumber: '+01-123-456-7890',
  });
});

test('names that objects have from birth are names like others', () => {
  const patched = mergePatch({}, { constructor: { a: 1 }, toString: 'x', hasOwnProperty: null });
  expect(JSON.stringify(patched)).toBe('{"constructor":{"a":1},"toString":"x"}');
});

describe('a list', () => {
  const LIST = ['a', 'b', 'c'];
  const patched = (patch: unknown) => patchedList(LIST, patch, '/list')?.list;

  it.each<[string, object, string[]]>([
    ['gets what it does not have', { $append: ['c', 'd'] }, ['a', 'b', 'c', 'd']],
    ['loses what it has', { $drop: ['b', 'x'] }, ['a', 'c']],
    ['is replaced', { $replace: ['x'] }, ['x']],
    ['is emptied', { $replace: [] }, []],
    [
      'is replaced, then loses, then gets',
      { $append: ['a', 'z'], $drop: ['a', 'y'], $replace: ['a', 'x', 'y'] },
      ['x', 'a', 'z'],
    ],
    ['keeps what is dropped and appended, at its end', { $drop: ['a'], $append: ['a'] }, ['b', 'c', 'a']],
    ['stays as it is', {}, LIST],
  ])('%s', (_what, patch, expected) => {
    expect(patched(patch)).toEqual(expected);
  });

  it.each([[['x']], [null], ['x'], [1]])('is not patched by %j', (patch) => {
    expect(patched(patch)).toBeUndefined();
  });

  it('knows elements by what they mean', () => {
    const keyOf = (element: string) => element.toLowerCase();
    const list = ['A', 'b', 'C'];
    expect(patchedList(list, { $drop: ['a'], $append: ['B', 'D'] }, '/list', keyOf)?.list).toEqual(['b', 'C', 'D']);
  });

  it('reports every fault of the operators, and changes nothing', () => {
    const patch = { $append: 'x', $drop: [1], $add: ['x'], $replace: null };
    const { list, faults = [] } = patchedList(LIST, patch, '/list') ?? {};
    expect(list).toEqual(LIST);
    expect(faults.map(({ pointer }) => pointer)).toEqual([
      '/list/$append',
      '/list/$drop',
      '/list/$add',
      '/list/$replace',
    ]);
  });
});
