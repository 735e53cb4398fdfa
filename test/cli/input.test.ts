import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PATIENCE } from '../support/patience.js';
import { answer, closeServers, type ScriptedServer, scriptedServer } from './support/scripted-server.js';
import { svc, temporaryFolder } from './support/svc.js';

let server: ScriptedServer;
const patch = (input: string | Buffer) =>
  svc(['group', 'patch', 'g', '-f', '-'], {
    env: { SVC_ENDPOINT: server.url, SVC_ORG: 'acme', SVC_TOKEN: 'token' },
    input,
  });

beforeEach(async () => {
  server = await scriptedServer((_, response) => answer(response, 200, { kind: 'group', name: 'g' }));
});
afterEach(closeServers);

it.each([
  ['{"a":12345678901234567890123,"b":1.10,"2":1e400,"1":-0}', undefined],
  [
    'a: 12345678901234567890123\nb: 1.10\n"2": 1e400\n1: -0\n',
    '{"a":12345678901234567890123,"b":1.10,"2":1e400,"1":-0}',
  ],
  ['a: yes\nb: 2024-01-01\nc: ~\nd: "1"\ne: 0777x\n', '{"a":"yes","b":"2024-01-01","c":null,"d":"1","e":"0777x"}'],
  ['a:\n- x\n- {b: [true, false]}\nc: |\n  two\n  lines\n', '{"a":["x",{"b":[true,false]}],"c":"two\\nlines\\n"}'],
  ['\ufeff{"a":1}', '{"a":1}'],
  ['1.0: x\nyes: y\nnull: z\n', '{"1.0":"x","yes":"y","null":"z"}'],
  [
    `a: "[[[["\nb: ${'-'.repeat(100)}\nc: {${Array.from({ length: 3 }, (_, i) => `k${i}: '{'`).join(', ')}}\n`,
    `{"a":"[[[[","b":"${'-'.repeat(100)}","c":{"k0":"{","k1":"{","k2":"{"}}`,
  ],
  ['__proto__: {a: 1}\n', '{"__proto__":{"a":1}}'],
])('%j is sent as it means, digit for digit', async (input, sent = input) => {
  expect((await patch(input)).stderr).toBe('');
  expect(server.seen[0]?.body).toBe(sent);
});

const BOMB = [
  'a: &a [x,x,x,x,x,x,x,x,x]',
  ...'bcdefghij'.split('').map((name, index) => {
    const before = 'abcdefghi'[index];
    return `${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(',')}]`;
  }),
].join('\n');

it.each([
  ['aliases', BOMB, 'replace the alias *a by its value'],
  ['an alias as a key', 'a: &a x\n*a : y\n', 'a key must be a text'],
  ['a number that is none in JSON', 'a: 0x1F\n', 'line 1: write the number 0x1F'],
  ['an octal number', 'a: 1\nb: 0o17\n', 'line 2: write the number 0o17'],
  ['infinity', 'a: .inf\n', 'write the number .inf'],
  ['a duplicate key', 'a: 1\nb: 2\na: 3\n', 'line 3: duplicate key `a`'],
  ['a key that is no text', '? [x]\n: y\n', 'a key must be a text'],
  ['two documents', 'a: 1\n---\nb: 2\n', 'must be one document'],
  ['an unknown tag', 'a: !thing x\n', 'Unresolved tag'],
  ['what is no YAML', 'a: [\n', 'line '],
  ['a list', '- a\n', 'does not hold an object'],
  ['a text', 'a', 'does not hold an object'],
  ['nothing', '', 'does not hold an object'],
  ['bytes that are no text', Buffer.from([0x7b, 0xff, 0x7d]), 'cannot read standard input'],
  ['too much', Buffer.alloc(2 * 1024 * 1024, 'a'), 'standard input is larger than 1 MiB'],
  ['brackets without end', '['.repeat(1024 * 1024 - 1), 'nested too deep'],
  ['maps within maps', '{a: '.repeat(200_000), 'nested too deep'],
  ['lists within lists', `${'- '.repeat(500_000)}x`, 'nested too deep'],
  ['keys within keys', ': '.repeat(500_000), 'nested too deep'],
  ['lines within lines', Array.from({ length: 1000 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'), 'nested too deep'],
  [
    'thirty thousand keys, one twice',
    `${Array.from({ length: 30_000 }, (_, i) => `k${i}: 1`).join('\n')}\nk7: 2`,
    'duplicate key',
  ],
])('%s is refused, quickly and before anything is sent', async (_what, input, message) => {
  const begun = performance.now();
  const { code, stdout, stderr } = await patch(input);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain(message);
  expect(stderr).not.toMatch(/\n\s+at /);
  expect(performance.now() - begun).toBeLessThan(10_000 * PATIENCE);
  expect(server.seen).toEqual([]);
});

it('reads a file, and names one that it cannot read', async () => {
  const file = join(temporaryFolder(), 'patch.yaml');
  writeFileSync(file, 'description: d\n');
  const env = { SVC_ENDPOINT: server.url, SVC_ORG: 'acme', SVC_TOKEN: 'token' };
  await svc(['group', 'patch', 'g', '--file', file], { env });
  expect(server.seen[0]?.body).toBe('{"description":"d"}');
  const missing = await svc(['group', 'patch', 'g', '--file', `${file}x`], { env });
  expect([missing.code, missing.stderr]).toEqual([
    1,
    expect.stringContaining(`cannot read ${file}x: there is no such file`),
  ]);
  expect((await svc(['group', 'patch', 'g', '--file', temporaryFolder()], { env })).stderr).toContain('it is a folder');
});
