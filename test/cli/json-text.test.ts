import { parse } from 'yaml';
import { pretty } from '../../src/cli/output/json-layout.js';
import { toYaml } from '../../src/cli/output/yaml.js';
import { elements, member, members } from '../../src/contract/json-text.js';

const TRICKY =
  ' { "b" : 12345678901234567890.10 , "2":1,"1" :[ ] , "__proto__": {"x":"a\\"}],{"} , "e":"\\\\" ,"n":[1e400, -0, "é,]" ,[{}]]} ';

describe('JSON as text', () => {
  it('keeps members in order, digit for digit', () => {
    expect(members(TRICKY).map(({ name, raw }) => [name, raw])).toEqual([
      ['b', '12345678901234567890.10'],
      ['2', '1'],
      ['1', '[ ]'],
      ['__proto__', '{"x":"a\\"}],{"}'],
      ['e', '"\\\\"'],
      ['n', '[1e400, -0, "é,]" ,[{}]]'],
    ]);
    expect(elements(member(TRICKY, 'n') ?? '')).toEqual(['1e400', '-0', '"é,]"', '[{}]']);
    expect(members('{}')).toEqual([]);
    expect(elements('[ ]')).toEqual([]);
  });

  it('takes the last of duplicate members, as JSON.parse does', () => {
    expect(member('{"a":1,"a":2}', 'a')).toBe('2');
  });

  it('formats JSON as JSON.stringify does, if that loses nothing', () => {
    for (const value of [{}, [], { a: [1, { b: [] }], c: { d: 'x,y:{}' } }, 'text', 7, null]) {
      expect(pretty(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
    }
    expect(pretty(TRICKY)).toContain('"b": 12345678901234567890.10,\n  "2": 1,\n  "1": [],\n  "__proto__": {');
  });
});

describe('YAML of JSON text', () => {
  it('keeps order and digits', () => {
    expect(toYaml('{"2":1,"1":12345678901234567890,"f":1.10,"g":1e400}')).toBe(
      '2: 1\n1: 12345678901234567890\nf: 1.10\ng: 1e400\n'.replace(/^(\d)/gm, '"$1"'),
    );
  });

  it('reads back as the same values', () => {
    const value = {
      a: 'yes',
      b: '2024-01-01',
      c: 'x\ny\n',
      d: ['', ' ', '#', '- x', 'a: b', '\u001b[2J', '\u2028', '\u202e', '\u0085', '\t'],
      'k\u001b': null,
      e: {},
      f: [],
    };
    const text = toYaml(JSON.stringify(value));
    expect(parse(text)).toEqual(value);
    expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202e]/);
  });
});
