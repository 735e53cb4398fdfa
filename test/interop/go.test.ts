import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VerificationFailed } from '../../src/tlog/failure.js';
import { consistencyPath, inclusionPath, rootAt } from '../../src/tlog/merkle.js';
import { NoteSigner, vkeyOf } from '../../src/tlog/note.js';
import { verifyExport } from '../../src/tlog/verify-export.js';
import { scaled } from '../hardening/scale.js';
import { randomFor } from '../support/random.js';
import { chunksOf } from '../support/tlog-export.js';
import { PROOF_FIXTURES } from '../support/tlog-fixture.js';
import { grown } from '../support/tlog-vectors.js';
import { withTool } from '../support/tools.js';
import { forged, type MadeUp, madeUp } from './made-up.js';
import { Programs } from './programs.js';
import { TAMPERINGS, tampered } from './tampering.js';

const random = randomFor('interop');
let programs: Programs;

withTool('go', 'version')('golang.org/x/mod/sumdb', () => {
  beforeAll(() => {
    programs = new Programs('.', './...');
  });

  afterAll(() => programs?.remove());

  test('still makes the vectors that the specification tests read', async () => {
    const vectors = readFileSync(new URL('../fixtures/tlog-vectors.json', import.meta.url), 'utf8');
    expect((await programs.run('vectors', '')).out).toBe(vectors);
  });

  test('takes 50 notes and 500 pairs of paths that were made here', async () => {
    const notes = Array.from({ length: 50 }, (_, at) => {
      const [signer, origin] = [NoteSigner.generate('a'), `log-${at}.example.com/audit/-tlog`];
      const text = `${origin}\n${at}\nünïcode and\n\nempty lines\n`;
      return { vkey: vkeyOf(origin, signer.publicKey), text, note: signer.signNote(origin, text) };
    });
    const tree = grown(10_000);
    const paths = await Promise.all(Array.from({ length: 500 }, () => pathsIn(tree)));
    expect(await programs.run('check', JSON.stringify({ notes, paths }))).toEqual({
      code: 0,
      out: '50 notes, 500 paths\n',
    });
  });

  test.each(['acme.ndjson', 'closed.ndjson'])('verifies the published %s', async (name) => {
    for (const size of [30, 63]) {
      const files = [name, `${name}.proof`, `earlier-${size}.checkpoint`].map(path);
      expect(await goVerify(files, fixture('org.vkey'), fixture('service.vkey'))).toEqual({
        code: 0,
        out: 'verified 100 leaves\n',
      });
    }
  });

  test('verifies untouched exports of 50 histories, as svc does', async () => {
    for (let round = 0; round < 50; round += 1) {
      const made = await madeUp(random);
      expect(await bothVerify(made)).toEqual([true, true]);
    }
  });

  const rounds = scaled(1_000, 10_000);

  test(`finds ${rounds} of ${rounds} tamperings of 16 kinds, as svc does`, async () => {
    const kinds = Object.keys(TAMPERINGS);
    expect(kinds).toHaveLength(16);
    let made = await madeUp(random);
    for (let round = 0; round < rounds; round += 1) {
      if (round % kinds.length === 0) made = await madeUp(random);
      const kind = kinds[round % kinds.length] ?? '';
      const files = tampered(kind, random, made.files);
      expect(files).not.toEqual(made.files);
      expect([round, kind, ...(await bothVerify({ ...made, files }))]).toEqual([round, kind, false, false]);
    }
  });

  test('finds a history that was rewritten and signed again with the true key, from a pinned checkpoint', async () => {
    for (let round = 0; round < 20; round += 1) {
      const before = await madeUp(random);
      const files = await forged(before);
      expect(await bothVerify({ ...before, files, pinned: undefined })).toEqual([true, true]);
      expect(await bothVerify({ ...before, files })).toEqual([false, false]);
    }
  });
});

const path = (name: string) => fileURLToPath(new URL(name, PROOF_FIXTURES));
const fixture = (name: string) => readFileSync(path(name), 'utf8').trim();

function goVerify(
  [events = '', proof = '', pinned]: string[],
  vkey: string,
  serviceVkey: string,
): ReturnType<Programs['run']> {
  const options = ['-vkey', vkey, '-service-vkey', serviceVkey, '-number', '2', ...(pinned ? ['-pinned', pinned] : [])];
  return programs.run('verify', '', ...options, events, proof);
}

/** Whether Go verifies the files, and whether this repository does. */
async function bothVerify({ history, files, pinned }: MadeUp): Promise<[boolean, boolean]> {
  const paths = ['events', 'proof', ...(pinned === undefined ? [] : ['pinned'])].map((name) =>
    join(programs.folder, name),
  );
  for (const [at, text] of [files.events, files.proof, pinned ?? ''].entries()) {
    const file = paths[at];
    if (file) writeFileSync(file, text);
  }
  const { code, out } = await goVerify(paths, history.vkey, history.serviceVkey);
  if (code !== 0 && code !== 1) throw new Error(out);
  const [events, proof] = [chunksOf(files.events), chunksOf(files.proof)];
  const trust = { vkeys: [history.vkey], number: history.number };
  const found = await verifyExport({ events, proof, trust, ...(pinned !== undefined && { pinned }) }).catch(
    (error: unknown) => error,
  );
  if (found instanceof Error && !(found instanceof VerificationFailed)) throw found;
  return [code === 0, !(found instanceof Error)];
}

/** Paths of a random leaf and between two random sizes, as `check` reads them. */
async function pathsIn({ size: most, nodes }: ReturnType<typeof grown>): Promise<Record<string, unknown>> {
  const size = random.whole(1, most);
  const [index, from] = [random.whole(0, size - 1), random.whole(1, size)];
  const text = async (hash: Promise<Buffer> | Buffer) => (await hash).toString('base64');
  const texts = async (hashes: Promise<Buffer[]>) => (await hashes).map((hash) => hash.toString('base64'));
  return {
    ...{ size, index, from, root: await text(rootAt(size, nodes)), fromRoot: await text(rootAt(from, nodes)) },
    leaf: await text(nodes(0, index) as Buffer),
    inclusion: await texts(inclusionPath(index, size, nodes)),
    consistency: await texts(consistencyPath(from, size, nodes)),
  };
}
