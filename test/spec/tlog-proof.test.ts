import { originText, parseOrigin } from '../../src/tlog/origin.js';
import { closedLine, parseSidecarLine } from '../../src/tlog/sidecar.js';
import { parseTlogProof, tlogProofText } from '../../src/tlog/tlog-proof.js';
import { seeded } from '../property/arbitraries.js';
import fc from '../support/fast-check.js';

const bytes = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((array) => Buffer.from(array));
const NOTE = 'example.com/log\n1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n\n— example.com/log AAAA\n';

test('a tlog-proof is read as it was written', () => {
  const proofs = fc.record(
    {
      extra: fc.uint8Array({ minLength: 1 }).map((array) => Buffer.from(array)),
      index: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
      path: fc.array(bytes(32), { maxLength: 63 }),
      note: fc.constant(NOTE),
    },
    { requiredKeys: ['index', 'path', 'note'] },
  );
  fc.assert(
    fc.property(proofs, (proof) => expect(parseTlogProof(tlogProofText(proof))).toEqual(proof)),
    seeded(300),
  );
});

test('a tlog-proof has the lines of C2SP tlog-proof', () => {
  const text = tlogProofText({ extra: Buffer.from('{}'), index: 7, path: [Buffer.alloc(32)], note: NOTE });
  expect(text).toBe(`c2sp.org/tlog-proof@v1\nextra e30=\nindex 7\n${'A'.repeat(43)}=\n\n${NOTE}`);
});

test.each([
  ['another version', `c2sp.org/tlog-proof@v2\nindex 0\n\n${NOTE}`],
  ['no index', `c2sp.org/tlog-proof@v1\n\n${NOTE}`],
  ['an index with a leading zero', `c2sp.org/tlog-proof@v1\nindex 00\n\n${NOTE}`],
  ['extra that is not base64', `c2sp.org/tlog-proof@v1\nextra !\nindex 0\n\n${NOTE}`],
  ['a short hash', `c2sp.org/tlog-proof@v1\nindex 0\nAAAA\n\n${NOTE}`],
  ['too long a path', `c2sp.org/tlog-proof@v1\nindex 0\n${`${'A'.repeat(43)}=\n`.repeat(64)}\n${NOTE}`],
  ['no checkpoint', 'c2sp.org/tlog-proof@v1\nindex 0\n'],
])('a tlog-proof with %s is refused', (_, text) => {
  expect(() => parseTlogProof(text)).toThrow('The proof');
});

test.each([
  [{ base: 'audit.example.com', epoch: 1 }, 'audit.example.com/audit/-tlog'],
  [{ base: 'audit.example.com', org: 'acme', epoch: 1 }, 'audit.example.com/audit/org/acme/-tlog'],
  [{ base: 'svc-0190/x', org: 'acme', epoch: 12 }, 'svc-0190/x/audit/org/acme/-tlog/12'],
  [{ base: 'a', epoch: 2 }, 'a/audit/-tlog/2'],
])('the origin of %j is %s', (origin, text) => {
  expect([originText(origin), parseOrigin(text)]).toEqual([text, origin]);
});

test.each(['', 'a', 'a/audit/-tlog/1', 'a/audit/-tlog/02', 'a/audit/org/-tlog', '/audit/-tlog', 'a/audit/-tlog/'])(
  '"%s" is no origin',
  (text) => {
    expect(parseOrigin(text)).toBeUndefined();
  },
);

test('closed leaves are read as they were written', () => {
  const run = {
    from: 3,
    count: 6,
    hashes: [Buffer.alloc(32, 1), Buffer.alloc(32, 2)],
    reasons: { expired: 4, filter: 2 },
  };
  expect(parseSidecarLine(closedLine(run))).toEqual({ kind: 'closed', ...run });
});

test.each([
  'null',
  '[]',
  '1',
  '{}',
  '{"kind":"x"}',
  '{"leaf":-1,"salt":"AAAAAAAAAAAAAAAAAAAAAA","h":""}',
  '{"leaf":1,"salt":"AAAA","h":""}',
  '{"kind":"closed","from":9007199254740991,"count":1,"hashes":[],"reasons":{"a":1}}',
  '{"kind":"exportend","count":"1"}',
])('%s is no line of a proof file', (text) => {
  expect(() => parseSidecarLine(text)).toThrow();
});
