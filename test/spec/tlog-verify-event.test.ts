import { VerificationFailed } from '../../src/tlog/failure.js';
import type { Demands } from '../../src/tlog/findings.js';
import { type VerifiedEvent, verifyEvent } from '../../src/tlog/verify-event.js';
import { SampleHistory, START_MS } from '../support/tlog-export.js';

let sample: SampleHistory;
let proof: string;

beforeAll(async () => {
  sample = new SampleHistory();
  sample.publish(40);
  await sample.cut();
  sample.publish(60);
  await sample.cut();
  proof = await sample.eventProof(57);
});

const event = (index = 57) => sample.leaf(index).text;

function verify(given: { event?: Buffer; proof?: string; head?: string } & Partial<Demands> = {}): VerifiedEvent {
  return verifyEvent({ event: event(), proof, trust: { vkeys: [sample.vkey] }, ...given });
}

function failure(given: Parameters<typeof verify>[0]): VerificationFailed {
  try {
    verify(given);
  } catch (error) {
    if (error instanceof VerificationFailed) return error;
    throw error;
  }
  throw new Error('it verified');
}

test('shows that a checkpoint has the event, with or without a newline at its end', () => {
  const { leaf, size, receivedTime, notShown } = verify({ event: Buffer.concat([event(), Buffer.from('\n')]) });
  expect({ leaf, size, receivedTime }).toEqual({ leaf: 57, size: 100, receivedTime: START_MS + 58 * 7 + 5_000 });
  expect(notShown.map(({ kind }) => kind)).toEqual(['witness', 'head', 'pin', 'age']);
  const trust = { vkeys: [sample.serviceVkey], number: 2 };
  expect(verify({ trust, head: sample.headProof() }).head?.number).toBe(2);
});

test('says that a pinned checkpoint of another size shows little of one event', () => {
  const { notShown, pinned } = verify({ pinned: sample.notes[0] ?? '' });
  expect(pinned).toBeUndefined();
  expect(notShown.map(({ kind }) => kind)).toEqual(['witness', 'head', 'pin', 'age']);
  expect(verify({ pinned: sample.notes[1] ?? '' }).pinned?.size).toBe(100);
  expect(verify({ pinned: sample.notes[1] ?? '' }).notShown.map(({ kind }) => kind)).toEqual([
    'witness',
    'head',
    'age',
  ]);
});

test('fails for every event but its own, and for every changed byte of that', () => {
  expect(failure({ event: event(56) }).reason).toBe('root');
  for (const [at, byte] of event().entries()) {
    const changed = Buffer.from(event());
    changed[at] = byte ^ 1;
    expect(['root', 'line']).toContain(failure({ event: changed }).reason);
  }
});

test('fails for every changed character of the proof', () => {
  for (let at = 0; at < proof.length; at += 1) {
    const changed = proof.slice(0, at) + (proof[at] === 'a' ? 'b' : 'a') + proof.slice(at + 1);
    // The letters between the members of `extra` are not trusted, and not read.
    if (saltOf(changed) === saltOf(proof) && changed.split('\n').slice(2).join() === proof.split('\n').slice(2).join())
      continue;
    expect(['root', 'format', 'checkpoint']).toContain(failure({ proof: changed }).reason);
  }
});

function saltOf(text: string): unknown {
  try {
    const extra = Buffer.from(text.split('\n')[1]?.slice(6) ?? '', 'base64');
    return extra.toString('base64') === text.split('\n')[1]?.slice(6) &&
      text.startsWith('c2sp.org/tlog-proof@v1\nextra ')
      ? JSON.parse(extra.toString()).salt
      : undefined;
  } catch {
    return undefined;
  }
}

test('fails against a pinned checkpoint of the same size and another root, and a longer one', async () => {
  const other = new SampleHistory();
  other.publish(100);
  const pinned = await other.cut();
  expect(failure({ pinned }).message).toContain('Keep both, they prove it');
  other.publish(1);
  const { reason, message } = failure({ pinned: await other.cut() });
  expect([reason, message]).toEqual(['older', expect.stringContaining('older than the pinned one of 101')]);
});

test('fails if the event is older than a pinned checkpoint that lacks it', async () => {
  const other = new SampleHistory();
  other.publish(10);
  const pinned = await other.cut({ complete: START_MS + 100_000_000 });
  expect(failure({ pinned }).reason).toBe('time');
});

test('fails without the salt, or with an event that was written anew', () => {
  const extra = proof.split('\n')[1] ?? '';
  expect(failure({ proof: proof.replace(`${extra}\n`, '') }).reason).toBe('format');
  expect(failure({ proof: proof.replace(extra, `extra ${Buffer.from('{}').toString('base64')}`) }).reason).toBe(
    'format',
  );
  expect(failure({ event: Buffer.from(JSON.stringify(JSON.parse(event().toString()), null, 2)) }).reason).toBe('line');
});
