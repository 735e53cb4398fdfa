import { checkpointText } from '../../src/tlog/checkpoint.js';
import { Cover } from '../../src/tlog/cover.js';
import { VerificationFailed } from '../../src/tlog/failure.js';
import type { Demands } from '../../src/tlog/findings.js';
import { closedLine } from '../../src/tlog/sidecar.js';
import { FormatInvalid } from '../../src/tlog/text.js';
import { type VerifiedExport, verifyExport } from '../../src/tlog/verify-export.js';
import { seeded } from '../property/arbitraries.js';
import fc from '../support/fast-check.js';
import { chunksOf, type SampleExport, SampleHistory, SampleWitness, START_MS } from '../support/tlog-export.js';

/** 100 events in three cuts. */
async function history(options: ConstructorParameters<typeof SampleHistory>[0] = {}): Promise<SampleHistory> {
  const made = new SampleHistory(options);
  for (const count of [30, 33, 37]) {
    made.publish(count);
    await made.cut();
  }
  return made;
}

let sample: SampleHistory;
let whole: SampleExport;

beforeAll(async () => {
  sample = await history();
  whole = sample.export();
});

function verify(
  { events, proof }: SampleExport,
  demands: Partial<Demands> = {},
  chunk?: number,
): Promise<VerifiedExport> {
  const trust = { vkeys: [sample.vkey] };
  return verifyExport({ trust, ...demands, events: chunksOf(events, chunk), proof: chunksOf(proof, chunk) });
}

async function failure(
  made: SampleExport,
  demands: Partial<Demands> = {},
  chunk?: number,
): Promise<VerificationFailed> {
  const error = await verify(made, demands, chunk).catch((reason: unknown) => reason);
  if (!(error instanceof VerificationFailed))
    throw new Error(`verified, or failed otherwise: ${JSON.stringify(error)} ${error}`);
  return error;
}

const linesOf = (text: string) => text.split('\n').slice(0, -1);
const textOf = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('');

const edited = (
  made: SampleExport,
  edit: Partial<Record<keyof SampleExport, (lines: string[]) => string[]>>,
): SampleExport => ({
  events: textOf((edit.events ?? ((lines) => lines))(linesOf(made.events))),
  proof: textOf((edit.proof ?? ((lines) => lines))(linesOf(made.proof))),
});

describe('an export as it was made', () => {
  test('verifies, and the result says what was shown and what was not', async () => {
    const { events, size, closed, head, pinned, notShown, origin } = await verify(whole, {
      pinned: sample.notes[0] ?? '',
      trust: { vkeys: [sample.vkey], number: 2 },
    });
    expect({ events, size, closed, origin }).toEqual({ events: 100, size: 100, closed: 0, origin: sample.origin });
    expect([head?.number, head?.cut.n, head?.service.size, pinned?.size]).toEqual([2, 3, 3, 30]);
    expect(notShown.map(({ kind }) => kind)).toEqual(['witness', 'age']);
  });

  test.each([1, 7, 64, 1_000_000])('verifies in chunks of %i bytes', async (chunk) => {
    await expect(verify(whole, {}, chunk)).resolves.toMatchObject({ events: 100 });
  });

  test('verifies with its leaves in any order, and without a newline at the end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray([...Array(100).keys()], { minLength: 100 }), async (order) => {
        const { events, proof } = sample.export({ order });
        const result = await verify({ events: events.slice(0, -1), proof }, { pinned: sample.notes[1] ?? '' });
        expect(result).toMatchObject({ events: 100, pinned: { size: 63 } });
      }),
      seeded(30),
    );
  });

  test('verifies with the last line of an export behind its events, and reports progress', async () => {
    const reports: [number, number][] = [];
    const events = `${whole.events}{"kind":"exportend","count":100,"cursor":"x"}\n`;
    const bytes = Buffer.byteLength(events + whole.proof);
    await verifyExport({
      trust: { vkeys: [sample.serviceVkey] },
      events: chunksOf(events),
      proof: chunksOf(whole.proof),
      onProgress: (...report) => reports.push(report),
    });
    expect(reports.at(-1)).toEqual([bytes, 100]);
  });

  test('verifies with closed leaves, whose reasons are claims', async () => {
    const closed = (leaf: number) => (leaf < 41 ? 'expired' : leaf % 10 === 5 ? 'unindexed' : undefined);
    const result = await verify(sample.export({ closed, dividedAt: 30 }), { pinned: sample.notes[0] ?? '' });
    expect(result).toMatchObject({ events: 53, closed: 47, reasons: { expired: 41, unindexed: 6 } });
    expect(result.notShown.map(({ kind }) => kind)).toEqual(['closed', 'witness', 'age']);
    const filtered = await verify(sample.export({ closed: (leaf) => (leaf === 7 ? 'filter' : undefined) }));
    expect(filtered.notShown.map(({ kind }) => kind)).toEqual(['closed', 'filter', 'witness', 'pin', 'age']);
  });

  test('names the pinned size if closed leaves are not divided there', async () => {
    const made = sample.export({ closed: (leaf) => (leaf < 41 ? 'expired' : undefined) });
    const { reason, message } = await failure(made, { pinned: sample.notes[0] ?? '' });
    expect([reason, message]).toEqual(['pinned', expect.stringContaining('are not divided at 30')]);
  });

  test('verifies if it is empty', async () => {
    const empty = new SampleHistory();
    await empty.cut();
    await expect(verify(empty.export())).resolves.toMatchObject({ events: 0, size: 0 });
  });

  test('says that there is no head proof', async () => {
    const { notShown } = await verify(sample.export({ withHead: false }));
    expect(notShown.map(({ kind }) => kind)).toEqual(['witness', 'head', 'pin', 'age']);
  });
});

describe('a changed export fails', () => {
  test('for any changed byte of an event, naming line and leaf', async () => {
    const lines = linesOf(whole.events);
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 99 }), fc.nat(), async (at, position) => {
        const line = lines[at] ?? '';
        const index = position % line.length;
        const changed = line.slice(0, index) + (line[index] === 'q' ? 'r' : 'q') + line.slice(index + 1);
        const error = await failure(edited(whole, { events: (all) => all.with(at, changed) }));
        expect([error.reason, error.line, error.leaf]).toEqual(['line', at + 1, at]);
      }),
      seeded(200),
    );
  });

  const insert = (lines: string[]) => lines.toSpliced(50, 0, lines[3] ?? '');
  const remove = (lines: string[]) => lines.toSpliced(50, 1);
  const swap = (lines: string[]) => lines.with(10, lines[20] ?? '').with(20, lines[10] ?? '');
  const end = (lines: string[]) => lines.slice(-2);

  test.each<[string, Parameters<typeof edited>[1], Partial<VerificationFailed>]>([
    ['a line inserted', { events: insert }, { reason: 'line', line: 51, leaf: 50 }],
    ['a line removed', { events: remove }, { reason: 'line', line: 51, leaf: 50 }],
    ['the last line removed', { events: (lines) => lines.slice(0, -1) }, { reason: 'line', leaf: 99 }],
    ['a line added', { events: (lines) => [...lines, lines[99] ?? ''] }, { reason: 'line', line: 101 }],
    ['two lines swapped', { events: swap }, { reason: 'line', line: 11, leaf: 10 }],
    ['a line and its leaf removed', { events: remove, proof: remove }, { reason: 'format' }],
    ['a line and its leaf repeated', { events: insert, proof: insert }, { reason: 'cover', line: 51, leaf: 3 }],
    [
      'a blank in a line',
      { events: (lines) => lines.with(4, lines[4]?.replace(':', ': ') ?? '') },
      { reason: 'line', line: 5 },
    ],
    ['CRLF', { events: (lines) => lines.map((line) => `${line}\r`) }, { reason: 'line', line: 1 }],
    ['an empty line', { events: (lines) => lines.toSpliced(9, 0, '') }, { reason: 'line', line: 10 }],
    [
      'a time in another form',
      { events: (lines) => lines.with(0, lines[0]?.replace(/\.\d+Z/, 'Z') ?? '') },
      { reason: 'line', line: 1 },
    ],
    ['no end of the proof file', { proof: (lines) => lines.slice(0, -1) }, { reason: 'format' }],
    ['no checkpoint', { proof: (lines) => lines.toSpliced(-2, 1) }, { reason: 'format' }],
    ['only the end', { events: () => [], proof: end }, { reason: 'format' }],
    [
      'a salt of another leaf',
      { proof: (lines) => lines.with(5, lines[5]?.replace(/"salt":"../, '"salt":"__') ?? '') },
      { reason: 'line', line: 6 },
    ],
    [
      'a leaf with another index',
      { proof: (lines) => lines.with(5, lines[5]?.replace('"leaf":5', '"leaf":500') ?? '') },
      { reason: 'cover', line: 6, leaf: 500 },
    ],
    [
      'lines behind the end',
      { events: (lines) => [...lines, '{"kind":"exportend","count":100}', 'x'] },
      { reason: 'format' },
    ],
    ['a proof line that is not JSON', { proof: (lines) => lines.with(5, '{') }, { reason: 'format' }],
  ])('with %s', async (_, edit, expected) => {
    expect(await failure(edited(whole, edit))).toMatchObject(expected);
  });

  test('with events and proof changed together: the root is another', async () => {
    const other = await history();
    const forged = other.leaf(50);
    other.leaves.length = 50;
    other.append({
      text: Buffer.from(forged.text.toString().replace('0195-00000050', '0195-xxxxxxxx')),
      time: START_MS + 51 * 7 + 5_000,
    });
    for (const leaf of sample.leaves.slice(51)) other.leaves.push(leaf);
    other.notes.push(sample.notes.at(-1) ?? '');
    const { reason, message } = await failure(other.export({ withHead: false }));
    expect([reason, message]).toEqual(['root', expect.stringContaining('100 leaves are not those of the checkpoint')]);
  });

  test('with a closed leaf that is shown, closed twice, too many, or without its hash', async () => {
    const closed = (leaf: number) => (leaf < 41 ? 'expired' : undefined);
    const made = sample.export({ closed });
    const run = linesOf(made.proof).find((line) => line.includes('"closed"')) ?? '';
    const again = edited(made, { proof: (lines) => lines.toSpliced(-2, 0, run) });
    expect(await failure(again)).toMatchObject({ reason: 'cover' });
    const shown = edited(whole, { proof: (lines) => lines.toSpliced(-2, 0, run) });
    expect(await failure(shown)).toMatchObject({ reason: 'cover', leaf: 0 });
    const changed = (edit: (text: string) => string) =>
      edited(made, { proof: (lines) => lines.map((line) => (line === run ? edit(line) : line)) });
    expect(
      await failure(changed((text) => text.replace('"count":41', '"count":141').replace('41}', '141}'))),
    ).toMatchObject({ reason: 'cover' });
    expect(await failure(changed((text) => text.replace('"expired":41', '"expired":40')))).toMatchObject({
      reason: 'format',
    });
    expect(await failure(changed((text) => text.replace(/"hashes":\["../, '"hashes":["AA')))).toMatchObject({
      reason: 'root',
    });
    expect(await failure(changed((text) => text.replace(/"hashes":\["[^"]*",/, '"hashes":[')))).toMatchObject({
      reason: 'format',
    });
  });
});

describe('a checkpoint fails', () => {
  test('if it was signed by another key, or belongs to another organization', async () => {
    const [stranger, other] = [await history({ seed: 1 }), await history({ org: 'other' })];
    expect((await failure(stranger.export())).message).toContain('No trusted key signed the note');
    expect((await failure(other.export())).message).toContain(
      'but the trusted keys are of audit.example.com/audit/org/acme/-tlog',
    );
    expect((await failure((await history({ epoch: 2 })).export())).message).toContain(
      'how often an older log was restored',
    );
    await expect(verify(other.export(), { trust: { vkeys: [sample.serviceVkey] } })).resolves.toMatchObject({
      origin: other.origin,
    });
  });

  test('if it has fewer leaves than the pinned one', async () => {
    const short = new SampleHistory();
    short.publish(30);
    await short.cut();
    const { reason, message } = await failure(short.export(), { pinned: sample.notes[1] ?? '' });
    expect([reason, message]).toEqual(['older', expect.stringContaining('older than the pinned one of 63')]);
  });

  test('if its history was rewritten and signed again with the true key', async () => {
    const rewritten = new SampleHistory();
    rewritten.publish(29);
    rewritten.publish(71, START_MS + 1);
    await rewritten.cut();
    await expect(verify(rewritten.export())).resolves.toMatchObject({ events: 100 });
    const { reason, message } = await failure(rewritten.export(), { pinned: sample.notes[0] ?? '' });
    expect([reason, message]).toEqual(['pinned', expect.stringContaining('history was rewritten')]);
  });

  test('if an event is older than the pinned checkpoint that lacks it, or newer than its own', async () => {
    const dated = async (time: number) => {
      const made = new SampleHistory();
      made.publish(30);
      const pinned = await made.cut();
      made.publish(1, time);
      await made.cut();
      return { pinned, made: made.export(), complete: made.now - 5_107 };
    };
    const { complete } = await dated(START_MS);
    const late = await dated(complete - 60_001);
    expect(await failure(late.made, { pinned: late.pinned })).toMatchObject({ reason: 'time', line: 31, leaf: 30 });
    const inTime = await dated(complete - 60_000);
    await expect(verify(inTime.made, { pinned: inTime.pinned })).resolves.toMatchObject({ events: 31 });
    const early = await dated(complete + 5_107 + 60_001);
    expect(await failure(early.made)).toMatchObject({ reason: 'time', line: 31, leaf: 30 });
  });

  test('if its history ends before the time that is asked for', async () => {
    await expect(verify(whole, { after: sample.now - 100 })).resolves.toMatchObject({ complete: sample.now - 100 });
    expect(await failure(whole, { after: sample.now - 99 })).toMatchObject({ reason: 'stale' });
  });

  test('if the pinned one is of another origin, or not signed', async () => {
    const other = await history({ org: 'other' });
    const trust = { vkeys: [sample.serviceVkey] };
    expect(await failure(whole, { trust, pinned: other.notes[0] ?? '' })).toMatchObject({ reason: 'pinned' });
    expect(await failure(whole, { pinned: 'x' })).toMatchObject({ reason: 'checkpoint' });
  });

  test('if one of several pinned ones is of another history', async () => {
    const pinned = [sample.notes[1] ?? '', sample.notes[0] ?? ''];
    await expect(verify(whole, { pinned })).resolves.toMatchObject({ pinned: { size: 63 } });
    const rewritten = new SampleHistory();
    rewritten.publish(30);
    await rewritten.cut();
    rewritten.publish(70, START_MS + 61_000);
    await rewritten.cut();
    await expect(verify(rewritten.export(), { pinned: sample.notes[0] ?? '' })).resolves.toMatchObject({ size: 100 });
    for (const order of [pinned, pinned.toReversed()]) {
      expect(await failure(rewritten.export(), { pinned: order })).toMatchObject({ reason: 'pinned' });
    }
  });

  test('but not if the pinned one was signed by a former key that the policy names, too', async () => {
    const former = new SampleHistory({ seed: 1 });
    former.publish(30);
    const pinned = await former.cut();
    const policy = `log ${former.serviceVkey}\nlog ${sample.serviceVkey}\nquorum none\n`;
    await expect(verify(whole, { trust: { policy }, pinned })).resolves.toMatchObject({ pinned: { size: 30 } });
    expect(await failure(whole, { pinned })).toMatchObject({ reason: 'checkpoint' });
  });

  test('if it is of the service log', async () => {
    const note = sample.headProof().slice(sample.headProof().indexOf('\n\n') + 2);
    const trust = { vkeys: [sample.serviceVkey] };
    const { reason, message } = await failure(exportOf([JSON.stringify({ kind: 'checkpoint', note }), END]), { trust });
    expect([reason, message]).toEqual(['checkpoint', expect.stringContaining("no organization's log")]);
  });

  test('if its times are none of a calendar', async () => {
    const late = signed(0, Buffer.alloc(32), { complete: 2 ** 53 - 1, at: 2 ** 53 - 1 });
    expect(await failure(exportOf([late, END]))).toMatchObject({ reason: 'checkpoint' });
  });
});

const END = '{"kind":"exportend","count":0}';

/** Without events. */
const exportOf = (lines: readonly string[]): SampleExport => ({ events: '', proof: textOf(lines) });

/** The checkpoint line of a tree that nobody has, signed with the true key. */
function signed(size: number, root: Buffer, cut: { complete: number; at: number }): string {
  const text = checkpointText({ origin: sample.origin, size, root, cut: { n: 1, ...cut } });
  return JSON.stringify({ kind: 'checkpoint', note: sample.signer.signNote(sample.origin, text) });
}

describe('a proof file that is signed, and made to do harm,', () => {
  const cut = { complete: START_MS, at: START_MS };
  const hash = Buffer.alloc(32, 3);
  const run = (from: number, count: number) => closedLine({ from, count, hashes: [hash], reasons: { expired: count } });

  test.each([2 ** 46, 2 ** 52])('is read at once if it closes %d leaves', async (count) => {
    await expect(verify(exportOf([run(0, count), signed(count, hash, cut), END]))).resolves.toMatchObject({
      closed: count,
    });
  });

  test('fails for a shown leaf among very many closed ones', async () => {
    const proof = [
      ...linesOf(whole.proof).slice(0, 100),
      run(0, 2 ** 46),
      signed(2 ** 46, hash, cut),
      '{"kind":"exportend","count":100}',
    ];
    expect(await failure({ ...whole, proof: textOf(proof) })).toMatchObject({ reason: 'cover', leaf: 0 });
  });

  test('fails at the first leaf that its checkpoint does not have, if that is known', async () => {
    const far = edited(whole, { proof: (lines) => lines.with(5, lines[5]?.replace('"leaf":5', '"leaf":500') ?? '') });
    const [note, rest] = [sample.notes.at(-1) ?? '', linesOf(far.proof).slice(0, 6)];
    const cutOff = { ...far, proof: textOf(rest) };
    const files = () => ({ events: chunksOf(cutOff.events), proof: chunksOf(cutOff.proof) });
    const error = await verifyExport({ trust: { vkeys: [sample.vkey] }, note, ...files() }).catch((e: unknown) => e);
    expect(error).toMatchObject({ reason: 'cover', line: 6, leaf: 500 });
  });

  test('takes no more memory for leaves far apart than their hashes do', () => {
    const cover = new Cover();
    const before = process.memoryUsage().arrayBuffers;
    for (let at = 0; at < 40_000; at += 1) cover.addLeaf(at * 8192, hash);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 2 ** 20);
    expect(cover.firstLeaf(8193, 2 ** 52)).toBe(2 * 8192);
    expect(cover.firstLeaf(40_000 * 8192, 2 ** 52)).toBeUndefined();
  });

  test('fails if its checkpoint is not the one that was read before', async () => {
    const files = { events: chunksOf(whole.events), proof: chunksOf(whole.proof) };
    const again = sample.signer.signNote(sample.origin, `${(sample.notes.at(-1) ?? '').split('\n\n')[0]}\nmore\n`);
    const given = { trust: { vkeys: [sample.vkey] }, note: again, ...files };
    await expect(verifyExport(given)).rejects.toMatchObject({ reason: 'format' });
  });

  test('fails if a line is longer than any event', async () => {
    const long = { ...whole, events: 'x'.repeat(17 * 2 ** 20 + 2) };
    expect(await failure(long, {}, 2 ** 20)).toMatchObject({ reason: 'format' });
  });

  const [checkpoint, end] = [(lines: string[]) => lines.at(-2) ?? '', (lines: string[]) => lines.at(-1) ?? ''];

  test.each<[string, (lines: string[]) => string[]]>([
    ['a second checkpoint', (lines) => lines.toSpliced(-1, 0, checkpoint(lines))],
    ['closed leaves behind the checkpoint', (lines) => lines.toSpliced(-1, 0, run(0, 1))],
    ['a blank before the checkpoint', (lines) => lines.with(-2, ` ${checkpoint(lines)}`)],
    ['an empty line at the end', (lines) => [...lines, '']],
    ['a second end', (lines) => [...lines, end(lines)]],
    ['a number that is none', (lines) => lines.with(-2, checkpoint(lines).replace('"number":2', '"number":"2"'))],
    [
      'no closed leaves',
      (lines) => lines.toSpliced(-2, 0, '{"kind":"closed","from":0,"count":0,"hashes":[],"reasons":{}}'),
    ],
    ['reasons below 0', (lines) => lines.toSpliced(-2, 0, run(0, 1).replace('{"expired":1}', '{"expired":1,"x":-5}'))],
  ])('fails with %s', async (_, edit) => {
    expect(await failure(edited(whole, { proof: edit }))).toMatchObject({ reason: 'format' });
  });
});

describe('a head proof', () => {
  const withHead = (head: string | undefined, note = sample.notes.at(-1), number = 2): SampleExport => ({
    ...whole,
    proof: textOf([
      ...linesOf(whole.proof).slice(0, -2),
      JSON.stringify({ kind: 'checkpoint', note, number, head }),
      '{"kind":"exportend","count":100}',
    ]),
  });

  test('shows the number of the organization', async () => {
    const trust = { vkeys: [sample.vkey], number: 3 };
    expect((await failure(whole, { trust })).message).toContain('has the number 2, and should have the number 3');
    expect((await failure(withHead(undefined), { trust })).message).toContain('no head proof');
    expect(await failure(withHead(sample.headProof(), undefined, 3))).toMatchObject({ reason: 'number' });
  });

  test('fails for any change', async () => {
    const proof = sample.headProof();
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: proof.length - 1 }), async (at) => {
        const changed = proof.slice(0, at) + (proof[at] === 'a' ? 'b' : 'a') + proof.slice(at + 1);
        // JSON and base64 may spell the same otherwise: members of `extra` that are not hashed are not trusted.
        const error = await verify(withHead(changed)).catch((reason: unknown) => reason);
        if (error instanceof Error)
          expect(['head', 'checkpoint', 'number']).toContain((error as VerificationFailed).reason);
        else expect(extraOf(changed)).toEqual(extraOf(proof));
      }),
      seeded(500),
    );
  });

  /** What of `extra` a proof is made of. */
  function extraOf(text: string): unknown {
    const { entry, number, checkpoint, directory } = JSON.parse(
      Buffer.from(text.split('\n')[1]?.slice(6) ?? '', 'base64').toString(),
    );
    return { entry, number, checkpoint, directory };
  }

  test('fails if it is of an earlier checkpoint, or of another service', async () => {
    const earlier = await history();
    const proof = earlier.headProof();
    earlier.publish(1);
    await earlier.cut();
    expect(await failure(withHead(earlier.headProof()))).toMatchObject({ reason: 'head' });
    expect(await verify(withHead(proof))).toMatchObject({ head: { number: 2 } });
    const other = await history({ seed: 1 });
    expect(await failure(withHead(other.headProof()))).toMatchObject({ reason: 'checkpoint' });
  });
});

describe('witnesses', () => {
  const name = 'witness.example.com/w1';
  const witness = new SampleWitness(name);
  const { vkey } = witness;

  const cosigned = (timeMs: number) => sample.export({ cosign: (note) => witness.cosign(note, timeMs) });

  const policyOf = (quorum: string) =>
    `log ${sample.serviceVkey}\nwitness w1 ${vkey} https://witness.example.com/\nquorum ${quorum}\n`;

  test('meet the quorum of a policy', async () => {
    const trust = { policy: policyOf('w1') };
    const { cosignatures, notShown } = await verify(cosigned(sample.now), { trust });
    expect(cosignatures).toEqual([{ name, vkey, time: Math.floor(sample.now / 1000) * 1000 }]);
    expect(notShown.map(({ kind }) => kind)).toEqual(['pin', 'age']);
    expect(await failure(whole, { trust })).toMatchObject({ reason: 'quorum' });
    await expect(verify(whole, { trust: { policy: policyOf('none') } })).resolves.toMatchObject({ cosignatures: [] });
  });

  test('are remarked if they cosigned late', async () => {
    const { notShown } = await verify(cosigned(sample.now + 11 * 60_000), { trust: { policy: policyOf('w1') } });
    expect(notShown.map(({ kind }) => kind)).toEqual(['pin', 'cosignature', 'age']);
  });

  test('do not replace the signature of the log', async () => {
    const text = sample.notes.at(-1) ?? '';
    const trust = { vkeys: [vkey], policy: policyOf('none') };
    expect(await failure({ ...whole, proof: whole.proof.replace('— audit', '— other') }, { trust })).toMatchObject({
      reason: 'checkpoint',
    });
    expect(text).toContain('— audit');
  });
});

test('what is trusted must be readable, and not nothing', async () => {
  await expect(verify(whole, { trust: {} })).rejects.toThrow(FormatInvalid);
  await expect(verify(whole, { trust: { vkeys: ['x'] } })).rejects.toThrow('"x" is not a verifier key');
  await expect(verify(whole, { trust: { policy: 'log' } })).rejects.toThrow('Line 1 of the policy');
});
