import { checkpointText, parseCheckpoint } from '../../../src/tlog/checkpoint.js';
import { leafHash } from '../../../src/tlog/hash.js';
import { commitmentOf, entryOf } from '../../../src/tlog/leaf.js';
import { CompactRange } from '../../../src/tlog/merkle.js';
import { NoteSigner, splitNote } from '../../../src/tlog/note.js';
import { checkpointLine, leafLine, parseSidecarLine } from '../../../src/tlog/sidecar.js';
import type { Proven } from '../../support/proofs.js';
import type { Random } from '../../support/random.js';

/**
 * The export of a history in which one event before `before` was altered, and all leaves, the root and the signature made anew with
 * the service's own key: what an operator could serve who rewrites everything. It has no fault in itself.
 */
export function resigned({ events, proof }: Proven, key: string, random: Random, before: number): Proven {
  const lines = events.toString().trimEnd().split('\n');
  const sidecar = proof.toString().trimEnd().split('\n').map(parseSidecarLine);
  const altered = random.whole(0, Math.min(before, lines.length) - 1);
  const leaves: Buffer[] = [];
  const rows: string[] = [];
  for (const [at, line] of lines.entries()) {
    const text = at === altered ? line.replace(/"requestId":"./, (start) => `${start.slice(0, -1)}!`) : line;
    if (at === altered && text === line) throw new Error(`nothing was altered in ${line}`);
    lines[at] = text;
    const row = sidecar[at];
    if (row?.kind !== 'leaf') throw new Error('the export has closed leaves');
    const { receivedTime } = JSON.parse(text) as { receivedTime: string };
    const hash = leafHash(entryOf(Date.parse(receivedTime), commitmentOf(row.salt, Buffer.from(text))));
    leaves[row.leaf] = hash;
    rows.push(leafLine(row.leaf, row.salt, hash));
  }
  const tree = new CompactRange();
  for (const leaf of leaves) tree.append(leaf);
  const signed = sidecar.find((row) => row.kind === 'checkpoint');
  const checkpoint = parseCheckpoint(splitNote(signed?.note ?? '').text);
  const text = checkpointText({ ...checkpoint, root: tree.root() });
  const note = NoteSigner.parse(key).signNote(checkpoint.origin, text);
  const end = proof.toString().trimEnd().split('\n').at(-1) ?? '';
  return {
    events: Buffer.from(`${lines.join('\n')}\n`),
    proof: Buffer.from(`${[...rows, checkpointLine({ note }), end].join('\n')}\n`),
  };
}
