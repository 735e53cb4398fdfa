import { fromYaml, YamlFault } from '../../src/cli/args/yaml.js';
import { toYaml } from '../../src/cli/output/yaml.js';
import fc from '../support/fast-check.js';

const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.bigInt().map(String),
  fc.constantFrom('-0', '1e400', '1E+2', '0.10', '123456789012345678901234567890.123456789', '-1e-999'),
);
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.string({ unit: fc.constantFrom(...' \n\t:#-?&*!|>\'"%@`{}[],~<=.\\0123xeEyn\r\u0085\u2028\u001b\ufeff') }),
  fc.string({ unit: fc.constantFrom(' ', '\n', 'a', '#', ':'), maxLength: 6 }),
  fc.constantFrom('yes', 'null', '~', '0x1F', '1_000', '12:30', '2024-01-01', '<<', '---', '...', '__proto__'),
);
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    number,
    text.map((value) => JSON.stringify(value)),
    fc.constantFrom('true', 'false', 'null', '{}', '[]'),
    fc.array(tie('json'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
    fc
      .uniqueArray(fc.tuple(text, tie('json')), { maxLength: 4, selector: ([name]) => name })
      .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`),
  ),
}));

describe('YAML that is read', () => {
  it('gives back the very JSON text that was shown as YAML', () => {
    fc.assert(
      fc.property(json, (shown) => {
        expect(fromYaml(toYaml(shown))).toBe(shown);
      }),
      {
        numRuns: 2_000,
        examples: ['" \\n"', '[" \\n"]', '"\\n a"', '{"a":["\\n  \\n b\\n"]}', '" a\\n#"'].map((text) => [text]),
      },
    );
  });

  it('may be JSON', () => {
    expect(fromYaml('{"a": [1e400, "x\\u0000", {}],\n "b": null}')).toBe('{"a":[1e400,"x\\u0000",{}],"b":null}');
  });

  it.each([
    ['a: yes\nb: 12:30\nc: 2024-01-01\nd: 1_000', '{"a":"yes","b":"12:30","c":"2024-01-01","d":"1_000"}'],
    ['1: a\n1.0: b\ntrue: c\n0x1: d', '{"1":"a","1.0":"b","true":"c","0x1":"d"}'],
    ['<<: {a: 1}', '{"<<":{"a":1}}'],
    ['a: !!str 007\nb: ! 1', '{"a":"007","b":"1"}'],
    ['a:\nb: ~\nc: ""', '{"a":null,"b":null,"c":""}'],
    ['\ufeffa: b\r\nc: |\r\n  d\r\n  e\r\n', '{"a":"b","c":"d\\ne\\n"}'],
    ['', 'null'],
    ['# nothing\n', 'null'],
  ])('%j means %j', (yaml, meaning) => {
    expect(fromYaml(yaml)).toBe(meaning);
  });

  it.each([
    ['a: &x [1]\nb: *x', 2, 'replace the alias *x by its value'],
    ['a: 1\nb: 2\na: 3', 3, 'duplicate key `a`'],
    ['a: 1\n"1": x\n1: y', 3, 'duplicate key `1`'],
    ['a: 007', 1, 'write the number 007 as JSON does, or quote it'],
    ['a: +1', 1, 'write the number +1'],
    ['a: .nan', 1, 'write the number .nan'],
    ['a: !<x> 1', 1, 'Unresolved tag'],
    ['a: !!binary aGk=', 1, 'JSON has nothing for this value'],
    ['a: 1\n? {b: c}\n: d', 2, 'a key must be a text'],
    ['a: &x b\n*x : d', 2, 'a key must be a text'],
    ['a: 1\n: b', 2, 'a key is missing'],
    ['{ , a: 1}', 1, 'Unexpected'],
    ['a: "\\q"', 1, 'Invalid escape'],
    ['a: b\n---\nc: d', undefined, 'must be one document'],
    [`a: ${'['.repeat(65)}${']'.repeat(65)}`, 1, 'nested too deep'],
    [`${'- '.repeat(65)}x`, 1, 'nested too deep'],
  ])('%j is refused with its line', (yaml, line, message) => {
    expect(faultOf(yaml)).toEqual({ line, message: expect.stringContaining(message) });
  });

  const MANY = 500_000;

  it.each([
    ['brackets', '['.repeat(MANY)],
    ['braces', '{'.repeat(MANY)],
    ['dashes', '- '.repeat(MANY / 2)],
    ['question marks', '? '.repeat(MANY / 2)],
    ['colons', ': '.repeat(MANY / 2)],
    ['anchors', '&a '.repeat(MANY / 3)],
    ['commas', `[${','.repeat(MANY)}]`],
    ['indentation', Array.from({ length: 900 }, (_, depth) => `${' '.repeat(depth)}a:\n`).join('')],
    [
      'aliases',
      `a0: &a0 [x, x, x, x, x, x, x, x, x]\n${Array.from({ length: 50 }, (_, n) => `a${n + 1}: &a${n + 1} [${Array(9).fill(`*a${n}`)}]\n`).join('')}`,
    ],
    ['keys that stand twice', 'a: 1\n'.repeat(MANY / 5)],
  ])('half a megabyte of %s is refused, and the process lives', (_, yaml) => {
    expect(faultOf(yaml).message).not.toBe('');
  });
});

function faultOf(yaml: string): { line: number | undefined; message: string } {
  try {
    throw new Error(`taken as ${fromYaml(yaml)}`);
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    return { line: error.line, message: error.message };
  }
}
