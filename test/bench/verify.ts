import { hash } from 'node:crypto';
import { eventJson } from './events.ts';
import { type Options, Rounds, say } from './figures.ts';
import { built } from './server.ts';

const EVENTS = 200_000;
const CHUNK_BYTES = 2 ** 20;
const START_MS = Date.parse('2026-03-01T12:00:00.000Z');

export const VERIFY_FIGURES = ['verify', 'verify-over-sha256'];

interface Files {
  readonly lines: readonly Buffer[];
  readonly events: Buffer;
  readonly proof: Buffer;
  readonly vkey: string;
}

/** `svc audit verify` of an export in memory, alone and over plain SHA-256 of the same lines: CPU, one thread. */
export async function measureVerify({ rounds }: Options): Promise<Rounds> {
  const { verifyExport } = await built<typeof import('../../src/tlog/verify-export.js')>('tlog/verify-export.js');
  const { lines, events, proof, vkey } = await exported();
  const ratios = new Rounds();
  for (let round = 1; round <= rounds; round += 1) {
    const plain = await cpuOf(() => {
      for (const line of lines) hash('sha256', line, 'binary');
    });
    const verified = await cpuOf(() =>
      verifyExport({ events: chunksOf(events), proof: chunksOf(proof), trust: { vkeys: [vkey] } }),
    );
    say(
      `round ${round}: verify ${Math.round(EVENTS / verified)}, SHA-256 ${Math.round(EVENTS / plain)} events a CPU second`,
    );
    ratios.add([
      ['verify', EVENTS / verified],
      ['verify-over-sha256', verified / plain],
    ]);
  }
  return ratios;
}

/** Events of typical size, each a leaf. */
async function exported(): Promise<Files> {
  const { leafHash } = await built<typeof import('../../src/tlog/hash.js')>('tlog/hash.js');
  const { commitmentOf, entryOf } = await built<typeof import('../../src/tlog/leaf.js')>('tlog/leaf.js');
  const { CompactRange } = await built<typeof import('../../src/tlog/merkle.js')>('tlog/merkle.js');
  const { NoteSigner } = await built<typeof import('../../src/tlog/note.js')>('tlog/note.js');
  const { checkpointText } = await built<typeof import('../../src/tlog/checkpoint.js')>('tlog/checkpoint.js');
  const { checkpointLine, endLine, leafLine } =
    await built<typeof import('../../src/tlog/sidecar.js')>('tlog/sidecar.js');
  const [range, proofs] = [new CompactRange(), [] as string[]];
  const lines = Array.from({ length: EVENTS }, (_, leaf) => {
    const time = START_MS + leaf;
    const line = Buffer.from(`${eventJson(leaf).slice(0, -1)},"receivedTime":"${new Date(time).toISOString()}"}`);
    const salt = Buffer.alloc(16, leaf);
    const hashed = leafHash(entryOf(time, commitmentOf(salt, line)));
    range.append(hashed);
    proofs.push(leafLine(leaf, salt, hashed));
    return line;
  });
  const signer = NoteSigner.generate('bench/audit/org/bench/-tlog');
  const cut = { n: 1, complete: START_MS + EVENTS, at: START_MS + EVENTS };
  const text = checkpointText({ origin: signer.name, size: EVENTS, root: range.root(), cut });
  proofs.push(checkpointLine({ note: signer.signNote(signer.name, text) }), endLine(EVENTS));
  const newline = Buffer.from('\n');
  const events = Buffer.concat(lines.flatMap((line) => [line, newline]));
  say(`an export of ${EVENTS} events of ${(events.length / EVENTS).toFixed(0)} bytes`);
  return { lines, events, proof: Buffer.from(proofs.map((line) => `${line}\n`).join('')), vkey: signer.vkey };
}

async function* chunksOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

/** In seconds. */
async function cpuOf(run: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}
