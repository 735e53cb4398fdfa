import { SampleHistory, SampleWitness } from './tlog-export.js';

/** Where `files` of `proofFixture` are kept. */
export const PROOF_FIXTURES = new URL('../fixtures/proofs/', import.meta.url);

/**
 * The files that `docs/proofs.md` shows, from fixed inputs: an export of 100 events in three cuts, the same with closed leaves,
 * one event with its proof, earlier checkpoints, keys and a policy.
 */
export async function proofFixture(): Promise<Record<string, string>> {
  const history = new SampleHistory();
  for (const count of [30, 33, 37]) {
    history.publish(count);
    await history.cut();
  }
  const witness = new SampleWitness('witness.example.com/w1');
  const cosign = (note: string) => witness.cosign(note, history.now + 1_000);
  // Partitions interleave: lines come in the order received, leaves in that of the log.
  const order = history.leaves.map((_, line) => (line % 10 === 4 ? line + 1 : line % 10 === 5 ? line - 1 : line));
  const closed = (leaf: number) => (leaf < 41 ? 'expired' : leaf % 10 === 5 ? 'unindexed' : undefined);
  const whole = history.export({ order, cosign });
  const partly = history.export({ order, closed, dividedAt: 30, cosign });
  const policy = [
    `log ${history.serviceVkey}`,
    `witness w1 ${witness.vkey}`,
    'group all-of-us any w1',
    'quorum all-of-us',
  ];
  return {
    'acme.ndjson': whole.events,
    'acme.ndjson.proof': whole.proof,
    'closed.ndjson': partly.events,
    'closed.ndjson.proof': partly.proof,
    'event.json': `${history.leaf(57).text.toString()}\n`,
    'event.tlog-proof': await history.eventProof(57),
    'head.tlog-proof': history.headProof(cosign),
    'earlier-30.checkpoint': history.notes[0] ?? '',
    'earlier-63.checkpoint': history.notes[1] ?? '',
    'latest-100.checkpoint': history.notes[2] ?? '',
    'org.vkey': `${history.vkey}\n`,
    'service.vkey': `${history.serviceVkey}\n`,
    'witness.vkey': `${witness.vkey}\n`,
    'policy.txt': `${policy.join('\n')}\n`,
  };
}
