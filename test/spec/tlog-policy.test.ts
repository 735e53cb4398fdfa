import { vkeyOf } from '../../src/tlog/note.js';
import { parsePolicy } from '../../src/tlog/policy.js';

const key = (name: string, number: number, type = 4) => vkeyOf(name, Buffer.alloc(32, number), type);
const witness = (name: string, number: number) => `witness ${name} ${key(`${name}.example.com`, number)}`;
const vkeys = (...numbers: number[]) =>
  numbers.map((number) => key(`${'xxxyyy'[number - 1]}${((number - 1) % 3) + 1}.example.com`, number));

/** The example of C2SP tlog-policy, with keys. */
const EXAMPLE = `
# two levels of groups
log ${key('example.com/log', 9, 1)}  https://log.example.com/

${witness('x1', 1)}
\t ${witness('x2', 2)} https://x2.example.com/
${witness('x3', 3)}
group X-witnesses 2 x1 x2 x3
${witness('y1', 4)}
${witness('y2', 5)}
${witness('y3', 6)}
group Y-witnesses any y1 y2 y3
group X-and-Y all X-witnesses Y-witnesses
quorum X-and-Y
`;

test('reads logs, witnesses and their addresses', () => {
  const { logs, witnesses, quorum } = parsePolicy(EXAMPLE);
  expect(logs).toEqual([{ vkey: key('example.com/log', 9, 1), url: 'https://log.example.com/' }]);
  expect(witnesses.map(({ name }) => name)).toEqual(['x1', 'x2', 'x3', 'y1', 'y2', 'y3']);
  expect([witnesses[1]?.url, witnesses[0]?.url, quorum]).toEqual(['https://x2.example.com/', undefined, 'X-and-Y']);
});

test.each([
  [[], false],
  [[1, 2, 4], true],
  [[1, 2, 3], false],
  [[1, 4, 5, 6], false],
  [[2, 3, 6], true],
  [[1, 2, 3, 4, 5, 6], true],
])('takes the witnesses %j for a quorum: %j', (numbers, isMet) => {
  expect(parsePolicy(EXAMPLE).isMetBy(vkeys(...numbers))).toBe(isMet);
});

test('asks for nothing with the quorum none, and for one witness with its name', () => {
  expect(parsePolicy('quorum none').isMetBy([])).toBe(true);
  const single = parsePolicy(`${witness('x1', 1)}\nquorum x1\n`);
  expect([single.isMetBy([]), single.isMetBy(vkeys(1))]).toEqual([false, true]);
});

test.each([
  ['no quorum', '# nothing', 'has no line "quorum"'],
  ['two quorums', 'quorum none\nquorum none', 'Line 2 of the policy: There is a second line "quorum".'],
  ['an unknown kind', 'logs x', 'Line 1 of the policy: "logs" is not one of'],
  ['an unknown name', 'quorum x1', 'No earlier line defines x1.'],
  ['none as a member', 'group g any none', 'No earlier line defines none.'],
  ['a name twice', `${witness('x1', 1)}\n${witness('x1', 2)}`, 'x1 is defined for the second time.'],
  ['a witness named none', witness('none', 1), 'none is defined for the second time.'],
  ['a member twice', `${witness('x1', 1)}\ngroup a any x1\ngroup b any x1`, 'x1 is a member for the second time.'],
  [
    'a key twice, under another name',
    `${witness('x1', 1)}\n${witness('x2', 1)}`,
    'There is a second witness with the key of',
  ],
  ['a threshold of 0', `${witness('x1', 1)}\ngroup a 0 x1`, 'a needs "0" of 1'],
  ['a threshold that is too high', `${witness('x1', 1)}\ngroup a 2 x1`, 'a needs "2" of 1'],
  [
    'a threshold that is a word of JavaScript',
    `${witness('x1', 1)}\ngroup a constructor x1`,
    'a needs "constructor" of 1',
  ],
  ['a group without members', 'group a any', 'Write it as group <name> <threshold> <member>...'],
  ['a key that is none', 'log x', 'is not a verifier key'],
])('refuses %s', (_, text, message) => {
  expect(() => parsePolicy(text)).toThrow(message);
});
