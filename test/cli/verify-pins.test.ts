import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type Pin, Pins } from '../../src/cli/proof/pins.js';
import { newOrg } from '../support/api.js';
import { checkpointed, SEALED_OFTEN } from '../support/proofs.js';
import { startService } from '../support/service.js';
import { type SampleExport, SampleHistory, START_MS } from '../support/tlog-export.js';
import { svc, temporaryFolder } from './support/svc.js';

/** Histories that a service with the true key could show: what the user pinned decides which is believed. */
interface Shown {
  readonly note: string;
  readonly export: SampleExport;
}

/** The exports after 30, 63 and 100 events. */
let honest: Shown[];
/** The first 30 as they were, and the others from `from` on received otherwise. */
let forked: Shown[];
let vkey: string;
let serviceVkey: string;
let folder: string;

async function shownBy(sample: SampleHistory, times: readonly (number | undefined)[]): Promise<Shown[]> {
  const shown: Shown[] = [];
  for (const [at, count] of [30, 33, 37].entries()) {
    sample.publish(count, times[at]);
    shown.push({ note: await sample.cut(), export: sample.export() });
  }
  return shown;
}

beforeAll(async () => {
  const sample = new SampleHistory();
  [vkey, serviceVkey] = [sample.vkey, sample.serviceVkey];
  honest = await shownBy(sample, []);
  forked = await shownBy(new SampleHistory(), [undefined, START_MS + 5_000]);
});

beforeEach(() => {
  folder = temporaryFolder();
});

const env = () => ({ XDG_STATE_HOME: join(folder, 'state'), SVC_ENDPOINT: 'http://127.0.0.1:1' });
const pinFile = () =>
  join(folder, 'state', 'svc', 'tlog', `${encodeURIComponent('audit.example.com/audit/org/acme/-tlog')}.json`);
const pin = () => readFileSync(pinFile(), 'utf8');

function verify({ events, proof }: SampleExport, ...more: string[]) {
  const file = join(folder, 'acme.ndjson');
  writeFileSync(file, events);
  writeFileSync(`${file}.proof`, proof);
  return svc(['audit', 'verify', file, '--vkey', vkey, ...more], { env: env() });
}

/** The file of a note. */
function noteOf(shown: Shown | undefined): string {
  const file = join(folder, 'given.note');
  writeFileSync(file, shown?.note ?? '');
  return file;
}

const of = (shown: Shown[], at: number): SampleExport => shown[at]?.export ?? { events: '', proof: '' };

const checkpointOf = (proof: string) => proof.split('\n').at(-3) ?? '';

/** The proof with another line in place of its checkpoint. */
const withCheckpoint = ({ events, proof }: SampleExport, line: (own: string) => string): SampleExport => ({
  events,
  proof: proof.replace(checkpointOf(proof), () => line(checkpointOf(proof))),
});

describe('the own pin', () => {
  it('is demanded beside --pinned', async () => {
    expect((await verify(of(honest, 1))).code).toBe(0);
    const before = pin();
    const { code, stdout, stderr } = await verify(of(forked, 2), '--pinned', noteOf(honest[0]));
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('The first 63 leaves are not those of the pinned checkpoint');
    expect(pin()).toBe(before);
    expect((await verify(of(honest, 2), '--pinned', noteOf(honest[0]))).code).toBe(0);
    expect(JSON.parse(pin())).toMatchObject({ note: honest[2]?.note, former: [honest[1]?.note] });
  });

  it('is not accused of by an older export, which its former notes verify', async () => {
    for (const at of [0, 1, 2]) expect((await verify(of(honest, at))).code).toBe(0);
    const before = pin();
    const { code, stdout } = await verify(of(honest, 1));
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/older than your pin of 100: .* Only its first 63 leaves/),
    ]);
    const fork = await verify(of(forked, 1));
    expect([fork.code, fork.stderr]).toEqual([1, expect.stringContaining('history was rewritten')]);
    expect(pin()).toBe(before);
  });

  it('says what of it was not compared with an export that is older than all notes', async () => {
    expect((await verify(of(honest, 2))).code).toBe(0);
    const before = pin();
    const alone = await verify(of(honest, 1));
    expect([alone.code, alone.stderr]).toEqual([
      1,
      expect.stringContaining('older than your pin of 100, and no earlier checkpoint of yours is as old'),
    ]);
    expect(alone.stderr).not.toContain('prove it');
    const { code, stdout } = await verify(of(honest, 1), '--pinned', noteOf(honest[0]));
    expect([code, stdout]).toEqual([0, expect.stringContaining('Only its first 30 leaves were compared')]);
    expect(pin()).toBe(before);
  });

  it('is found whatever the checkpoint line looks like', async () => {
    expect((await verify(of(honest, 1))).code).toBe(0);
    const before = pin();
    const spaced = await verify(withCheckpoint(of(forked, 2), (own) => ` ${own}`));
    expect([spaced.code, spaced.stderr]).toEqual([1, expect.stringContaining('not verified')]);
    expect(pin()).toBe(before);
  });

  it('is never a checkpoint that was not verified', async () => {
    const decoy = (own: string) => own.replace('\\n100\\n', '\\n9000000\\n');
    for (const line of [
      (own: string) => `${decoy(own)}\n ${own}`,
      (own: string) => `${decoy(own)}\n${own}`,
      (own: string) => `${own}\n${decoy(own)}`,
    ]) {
      const { code, stdout } = await verify(withCheckpoint(of(honest, 2), line));
      expect([code, stdout]).toEqual([1, '']);
      expect(pin).toThrow('ENOENT');
    }
  });

  it('is named when its note is damaged', async () => {
    mkdirSync(join(folder, 'state', 'svc', 'tlog'), { recursive: true });
    const damaged = { origin: 'audit.example.com/audit/org/acme/-tlog', vkey, note: 'garbage' };
    writeFileSync(pinFile(), JSON.stringify(damaged));
    const { code, stderr } = await verify(of(honest, 2));
    expect([code, stderr]).toEqual([1, expect.stringMatching(/the pin \S+ is damaged\n.*restore it from a copy/)]);
  });

  it('is of the newest of several that are verified at once, and of one history', async () => {
    const files = [...[0, 1, 2, 0, 2, 1].map((at) => of(honest, at)), of(forked, 1), of(forked, 2)].map((sample, n) => {
      const file = join(folder, `${n}.ndjson`);
      writeFileSync(file, sample.events);
      writeFileSync(`${file}.proof`, sample.proof);
      return file;
    });
    const results = await Promise.all(
      files.map((file) => svc(['audit', 'verify', file, '--vkey', vkey], { env: env() })),
    );
    const { note } = JSON.parse(pin()) as { note: string };
    const [first, newest] =
      [honest, forked].map((shown) => [shown[0]?.note, shown[2]?.note]).find(([, last]) => last === note) ?? [];
    expect([note, first]).toEqual([newest, honest[0]?.note]);
    const isOfPinned = (n: number) => n < 6 === (note === honest[2]?.note);
    for (const [n, { code, stdout, stderr }] of results.entries()) {
      // Both histories begin with the first checkpoint, which is older than a later pin.
      if (isOfPinned(n) || n === 0 || n === 3)
        expect([n, code === 0 || /older than your pin/.test(stderr)]).toEqual([n, true]);
      // One of 63 events that comes after a pin of 100 is compared with the 30 that were pinned before, and says so.
      else if (code === 0) expect(stdout).toContain('Only its first 30 leaves were compared');
      else expect([n, code, stderr]).toEqual([n, 1, expect.stringContaining('not verified')]);
    }
  });

  it('is replaced only by what was compared with it', async () => {
    const pins = new Pins(join(folder, 'pins'));
    const [one, two, fork] = [honest[0], honest[1], forked[1]].map((shown) => {
      return { origin: 'audit.example.com/audit/org/acme/-tlog', vkey, note: shown?.note ?? '' };
    }) as [Pin, Pin, Pin];
    const race = async (known: Pin | undefined, ...each: Pin[]) => {
      const won = await Promise.all(each.map((one) => pins.replace(known, one)));
      expect(won.filter((isWinner) => isWinner)).toHaveLength(1);
      const winner = each[won.indexOf(true)];
      expect(await pins.ofOrigin(one.origin)).toEqual(winner);
      return winner;
    };
    const winner = await race(undefined, one, fork, two);
    await race(winner, ...[one, fork, two].filter((pin) => pin !== winner));
    expect(await pins.replace(undefined, fork)).toBe(false);
  });

  it('is bounded, and keeps its first note', async () => {
    expect((await verify(of(honest, 1))).code).toBe(0);
    const known = JSON.parse(pin()) as object;
    const former = [honest[0]?.note, ...Array<string | undefined>(99).fill(honest[1]?.note)];
    writeFileSync(pinFile(), JSON.stringify({ ...known, former }));
    expect((await verify(of(honest, 2))).code).toBe(0);
    const now = JSON.parse(pin()) as { former: string[] };
    expect([now.former.length, now.former[0]]).toEqual([100, honest[0]?.note]);
  });
});

it('the organization is named, which the key of the service log does not say', async () => {
  const { code, stdout } = await verify(of(honest, 2), '--vkey', serviceVkey);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^ {2}organization +acme\n/m)]);
});

it('a checkpoint with times of no calendar is not verified', async () => {
  const sample = new SampleHistory();
  sample.publish(1);
  await sample.cut({ complete: 2 ** 53 - 1, at: 2 ** 53 - 1 });
  const { code, stderr } = await verify(sample.export({ withHead: false }));
  expect([code, stderr]).toEqual([1, expect.stringContaining('not verified: The checkpoint')]);
});

it('what a service shows and does not verify is no failure of the call', async () => {
  const service = await startService({ env: SEALED_OFTEN });
  const liar: Server = createServer(async (request, answer) => {
    const { status, headers, text } = await fetch(`${service.url}${request.url}`, {
      headers: { authorization: request.headers.authorization ?? '' },
    }).then(async (got) => ({ status: got.status, headers: got.headers, text: await got.text() }));
    answer.writeHead(status, { 'content-type': headers.get('content-type') ?? 'text/plain' });
    answer.end(request.url?.includes('-export') ? text.replace('"name":"one"', '"name":"two"') : text);
  }).listen(0, '127.0.0.1');
  try {
    const org = await newOrg(service);
    await org.publish({ resource: { name: 'one' } });
    await checkpointed(org);
    const SVC_ENDPOINT = `http://127.0.0.1:${(liar.address() as AddressInfo).port}`;
    const as = { SVC_ENDPOINT, SVC_ORG: org.name, SVC_TOKEN: org.key, XDG_STATE_HOME: join(folder, 'state') };
    const { code, stderr } = await svc(['audit', 'verify', '--full'], { env: as });
    expect(stderr).toMatch(/error: not verified: Line \d+ /);
    expect([code, stderr.includes('--endpoint')]).toEqual([1, false]);
  } finally {
    liar.close();
    await service.remove();
  }
});
