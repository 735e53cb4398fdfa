import { RE2JS } from 're2js';
import { estimate } from '../../src/platform/regex/estimate.js';
import { RegexCheck } from '../../src/platform/regex/regex.js';
import fc from '../support/fast-check.js';
import { PATIENCE } from '../support/patience.js';
import { seeded, unicode } from './arbitraries.js';

/** What expressions are made of, sound or not. */
const piece = fc.constantFrom(
  ...['a', 'B', '.', '^', '$', '|', '*', '+', '?', '*?', '(', '(?:', '(?i)', '(?i:', '(?P<n>', '(?<n>', ')', ')', '-'],
  ...['[', '[^', '[]', '[^]', ']', '[a-z]', '[^0-9]', '[[:alpha:]]', '[[:]', '[:', ':]', '[\\]]', '[\\d\\p{L}]'],
  ...['{', '}', ',', '0', '7', '{2}', '{3,}', '{0,9}', '{1,40}', '{1000}', '{,3}', '{3,', '{2}{2}', 'x{12}', '){30}'],
  ...['\\', '\\d', '\\w', '\\b', '\\pL', '\\p{Greek}', '\\PN', '\\p{', '\\x41', '\\x{41}', '\\x{', '\\Q', '\\E', '\\{'],
  ...['é', '😀', '[B-\u{1E942}]', '[a-\\x{FFFF}]'],
);
const expression = fc.oneof(
  fc.array(piece, { maxLength: 25 }).map((pieces) => pieces.join('')),
  fc.array(piece, { maxLength: 6 }).map((pieces) => `(${pieces.join('')}){5}`),
  unicode({ maxLength: 30 }),
);

/** Undefined where it is no regular expression. */
function programSize(regex: string): number | undefined {
  try {
    return RE2JS.compile(regex).programSize();
  } catch {
    return undefined;
  }
}

test('no expression has a larger program than was estimated before it was read', () => {
  fc.assert(
    fc.property(expression, (regex) => {
      const { instructions: most } = estimate(regex);
      // Too large to be read here, too.
      fc.pre(most <= 20_000);
      expect(programSize(regex) ?? 0).toBeLessThanOrEqual(most);
    }),
    seeded(20_000),
  );
});

test('what is small is taken just where RE2 compiles it', () => {
  fc.assert(
    fc.property(expression, (regex) => {
      fc.pre(estimate(regex).instructions <= 1_000 && !regex.includes('(?i') && !/\\p/i.test(regex));
      expect(new RegexCheck().fault(regex) === undefined).toBe(programSize(regex) !== undefined);
    }),
    seeded(5_000),
  );
});

test('as many expressions as a body holds are taken where they repeat nothing', () => {
  const check = new RegexCheck();
  for (let index = 0; index < 3_000; index += 1) {
    expect(check.fault(`^/shop-${index}/[a-z0-9-]+/(list|get|put)(/.*)?$`)).toBeUndefined();
  }
});

/** As large as a body may be. */
const BODY_CHARACTERS = 256 * 1024;

/** What takes the longest to read, each in its way. */
const heavy: [string, (n: number) => string][] = [
  ['ordinary ones', (n) => `^/shop-${n}/[a-z0-9-]+/(list|get|put)(/.*)?$`],
  ['long ones', (n) => `${n}`.padEnd(1_020, 'abcdefg')],
  ['counted repetitions', (n) => `a{0,${999 - (n % 100)}}${n}`],
  ['Unicode classes', (n) => Array(60).fill('\\pL').join('|') + n],
  ['ranges without regard to case', (n) => `(?i)[B-\u{1E942}]${n}`],
  ['names of classes without end', (n) => `[${'[:'.repeat(500)}${n}`],
  ['groups in groups', (n) => '('.repeat(480) + n + ')'.repeat(480)],
  ['stars', (n) => n + 'a*'.repeat(505)],
];

test.each(heavy)('a body full of %s holds up nobody for long', (_what, make) => {
  const times = Array.from({ length: 5 }, (_, round) => {
    const check = new RegexCheck();
    const expressions: string[] = [];
    for (let left = BODY_CHARACTERS; left > 0; left -= expressions.at(-1)?.length ?? 0) {
      expressions.push(make(round * 10_000 + expressions.length));
    }
    const before = process.cpuUsage();
    for (const expression of expressions) check.fault(expression);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  });

  // Several times what is estimated: machines differ, and the way tests run costs something.
  expect(Math.min(...times)).toBeLessThan(300 * PATIENCE);
});
