import fc from 'fast-check';
import { RE2JS } from 're2js';
import { mostInstructions, RegexCheck } from '../../src/http/regex.js';
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
      const most = mostInstructions(regex);
      // Too large to be read here, too.
      fc.pre(most <= 20_000);
      expect(programSize(regex) ?? 0).toBeLessThanOrEqual(most);
    }),
    seeded(20_000),
  );
});

test('what is small is taken just where RE2 takes it', () => {
  fc.assert(
    fc.property(expression, (regex) => {
      fc.pre(mostInstructions(regex) <= 1_000 && !regex.includes('(?i') && !/\\p/i.test(regex));
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
