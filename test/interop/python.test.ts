import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { scaled } from '../hardening/scale.js';
import { pythonWith } from '../support/python.js';
import { randomFor } from '../support/random.js';
import type { SampleExport } from '../support/tlog-export.js';
import { PROOF_FIXTURES } from '../support/tlog-fixture.js';
import { forged, type MadeUp, madeUp } from './made-up.js';
import { TAMPERINGS, tampered } from './tampering.js';

/** Calls the program with each list of arguments of its input, in one process; prints each exit code and what was printed. */
const EACH = `
import contextlib, io, json, sys
sys.path.insert(0, sys.argv[1])
import verify
results = []
for line in json.load(sys.stdin):
    sys.argv, code, out = ['verify.py', *line], 0, io.StringIO()
    with contextlib.redirect_stdout(out):
        try: verify.main()
        except SystemExit as end: code = end.code
    results.append({'code': code, 'out': out.getvalue()})
print(json.dumps(results))
`;

const random = randomFor('interop-python');
const python = pythonWith('cryptography-48', ['cryptography==48.0.0']);
let folder: string;
let files = 0;

interface Verified {
  readonly code: number;
  readonly out: string;
}

function verifyEach(cases: readonly (readonly string[])[]): Verified[] {
  const program = fileURLToPath(new URL('python', import.meta.url));
  const options = { input: JSON.stringify(cases), encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 } as const;
  return JSON.parse(execFileSync(python ?? '', ['-c', EACH, program], options)) as Verified[];
}

function fileOf(text: string): string {
  files += 1;
  const file = join(folder, String(files));
  writeFileSync(file, text);
  return file;
}

const trust = ({ history }: MadeUp) => ['--vkey', history.vkey, '--number', String(history.number)];
const exported = ({ events, proof }: SampleExport) => [fileOf(events), fileOf(proof)];
const pinned = ({ pinned: note }: MadeUp) => (note === undefined ? [] : ['--pinned', fileOf(note)]);

// `docs/proofs.md` is all that its author was given.
(python ? describe : describe.skip)('the verifier in Python', () => {
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'control-python-'));
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('verifies the published exports, and the proof of one event', () => {
    const of = (name: string) => fileURLToPath(new URL(name, PROOF_FIXTURES));
    const key = ['--vkey', of('org.vkey')];
    const acme = [of('acme.ndjson'), of('acme.ndjson.proof'), ...key, '--number', '2'];
    const closed = [of('closed.ndjson'), of('closed.ndjson.proof'), ...key];
    const cases = [
      [...acme, '--pinned', of('earlier-30.checkpoint')],
      [...closed, '--pinned', of('earlier-63.checkpoint')],
      ['--event', of('event.json'), '--proof', of('event.tlog-proof'), ...key],
    ];
    expect(verifyEach(cases)).toEqual([
      { code: 0, out: 'verified: 100 events, 0 closed leaves, size 100\n' },
      { code: 0, out: 'verified: 53 events, 47 closed leaves, size 100\n' },
      { code: 0, out: 'verified: 1 events, 0 closed leaves, size 100\n' },
    ]);
  });

  test('verifies untouched exports of 50 histories', async () => {
    const cases = [];
    for (let round = 0; round < 50; round += 1) {
      const made = await madeUp(random);
      cases.push([...exported(made.files), ...trust(made), ...pinned(made)]);
    }
    expect(verifyEach(cases).filter(({ code }) => code !== 0)).toEqual([]);
  });

  const rounds = scaled(400, 1_000);

  test(`finds ${rounds} of ${rounds} tamperings of 16 kinds`, async () => {
    const kinds = Object.keys(TAMPERINGS);
    const cases = [];
    let made = await madeUp(random);
    for (let round = 0; round < rounds; round += 1) {
      if (round % kinds.length === 0) made = await madeUp(random);
      const changed = tampered(kinds[round % kinds.length] ?? '', random, made.files);
      cases.push([...exported(changed), ...trust(made), ...pinned(made)]);
    }
    const missed = verifyEach(cases).flatMap(({ code, out }, round) => {
      return code === 1 ? [] : [[round, kinds[round % kinds.length], code, out]];
    });
    expect(missed).toEqual([]);
  });

  test('finds a history that was rewritten and signed again with the true key, from a pinned checkpoint', async () => {
    const [alone, against] = [[], []] as [string[][], string[][]];
    for (let round = 0; round < 20; round += 1) {
      const made = await madeUp(random);
      const other = exported(await forged(made));
      alone.push([...other, ...trust(made)]);
      against.push([...other, ...trust(made), ...pinned(made)]);
    }
    expect(new Set(verifyEach(alone).map(({ code }) => code))).toEqual(new Set([0]));
    expect(new Set(verifyEach(against).map(({ code }) => code))).toEqual(new Set([1]));
  });
});
