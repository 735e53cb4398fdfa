import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { VerificationFailed } from '../../src/tlog/failure.js';
import { verifyEvent } from '../../src/tlog/verify-event.js';
import { Api, newOrg, type Org, type Refusal } from '../support/api.js';
import { PATIENCE } from '../support/patience.js';
import { checkpointOfSize, provenExport, SEALED_OFTEN, verifyProven, vkeyOfLog } from '../support/proofs.js';
import { startService, type TestService } from '../support/service.js';
import { SampleWitness } from '../support/tlog-export.js';

let service: TestService;
let org: Org;

interface Proved {
  readonly id: string;
  readonly message: string;
  readonly proof?: string;
}

beforeAll(async () => {
  service = await startService({ env: SEALED_OFTEN });
});

beforeEach(async () => {
  org = await newOrg(service);
});

afterAll(() => service?.remove());

const named = (name: string, more: object = {}) => ({ resource: { name }, ...more });
const proofPath = (id: string, of = org) => `${of.audit}/id/${id}/-proof`;

/** The exact bytes of the event, as any reader finds them. */
async function bytesOf(id: string): Promise<Buffer> {
  const { text } = await org.event(id);
  return Buffer.from(text.slice(text.indexOf('"item":') + '"item":'.length, text.lastIndexOf(',"query":')));
}

async function untilFound(of: Org, id: string): Promise<void> {
  const deadline = Date.now() + 10_000 * PATIENCE;
  while ((await of.event(id)).status !== 200) {
    if (Date.now() > deadline) throw new Error(`${id} is not found`);
    await delay(20);
  }
}

async function verified(id: string, proof: string) {
  return verifyEvent({ event: await bytesOf(id), proof, trust: { vkeys: [await vkeyOfLog(org)] } });
}

describe('the proof of one event', () => {
  test('is linked from the publish and from the event, and verifies its exact bytes', async () => {
    const event = '{"resource":{"name":"numbers","data":{"big":12345678901234567890123,"exact":0.10}}}';
    const { body, headers } = await org.publish(event);
    const link = `<${org.audit}/id/${body.id}/-proof>; rel="proof"`;
    expect(headers.get('link')).toBe(link);
    expect((await org.event(body.id)).headers.get('link')).toBe(link);
    const { status, headers: proofHeaders, text } = await org.api.get<unknown>(proofPath(body.id));
    expect([status, proofHeaders.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    const { receivedTime } = await verified(body.id, text);
    expect(new Date(receivedTime).toISOString()).toBe((await org.event(body.id)).body.item.receivedTime);
  });

  test("is there for every event, the service's own included", async () => {
    await org.bulk(Array.from({ length: 20 }, (_, index) => named(`n${index}`)));
    const { body } = await org.list({ pageSize: '100' });
    const leaves = new Set<number>();
    for (const { id } of body.items) {
      const { text } = await org.api.get<unknown>(proofPath(id));
      leaves.add((await verified(id, text)).leaf);
    }
    expect(leaves.size).toBe(body.items.length);
    expect(body.items.length).toBeGreaterThan(26);
  });

  test('does not verify another event, nor altered bytes', async () => {
    const [one, other] = [await org.publish(named('one')), await org.publish(named('other'))];
    const { text } = await org.api.get<unknown>(proofPath(one.body.id));
    await verified(one.body.id, text);
    await expect(verified(other.body.id, text)).rejects.toThrow(VerificationFailed);
    const event = await bytesOf(one.body.id);
    const altered = Buffer.from(event.toString().replace('"one"', '"two"'));
    const trust = { vkeys: [await vkeyOfLog(org)] };
    expect(() => verifyEvent({ event: altered, proof: text, trust })).toThrow(VerificationFailed);
  });

  test('is not found for an event of another organization, of no organization, or in a context that the caller may not read', async () => {
    const other = await newOrg(service);
    const { body } = await org.publish(named('mine'), { context: 'closed' });
    expect((await other.api.get(proofPath(body.id))).status).toBe(403);
    expect((await other.api.get(proofPath(body.id, other))).status).toBe(404);
    const reader = await readerOf('open');
    const { status, body: refusal } = await reader.get<Refusal>(proofPath(body.id));
    expect([status, refusal.code]).toEqual([404, 'not_found']);
    const readable = await org.publish(named('mine'), { context: 'open' });
    expect((await reader.get(proofPath(readable.body.id))).status).toBe(200);
  });
});

/** A caller who may read one context. */
async function readerOf(context: string): Promise<Api> {
  const link = (kind: string, name: string) => `/org/${org.name}/${kind}/${name}`;
  await org.api.post(`/org/${org.name}/serviceaccount`, { name: 'reader' });
  const { body } = await org.api.post<{ key: string }>(`${link('serviceaccount', 'reader')}/-addKey`, {
    description: 'x',
  });
  await org.api.post(`/org/${org.name}/policy`, {
    name: 'reader',
    targetKind: 'auditctx',
    targetLinks: [link('auditctx', context)],
    bindings: [{ permissions: ['readAudit'], principalLinks: [link('serviceaccount', 'reader')] }],
  });
  return new Api(service.url, body.key);
}

describe('Prefer: proof', () => {
  const prefer = (value: string) => ({ headers: { prefer: value } });

  test.each(['proof', 'respond-async, PROOF; x=1', 'wait=5, proof'])(
    '%s is answered with the proof of the event',
    async (value) => {
      const { status, headers, body } = await org.publish<Proved>(named('proven'), prefer(value));
      expect([status, headers.get('preference-applied')]).toEqual([201, 'proof']);
      await verified(body.id, body.proof ?? '');
    },
  );

  test('a repetition has the proof of the first', async () => {
    const publish = () => org.publish<Proved>(named('once'), { ...prefer('proof'), idempotencyKey: 'once' });
    const [first, again] = [await publish(), await publish()];
    expect([first.status, again.status, again.body.id]).toEqual([201, 201, first.body.id]);
    const leaves = [first, again].map(({ body }) => verified(body.id, body.proof ?? ''));
    expect((await leaves[1])?.leaf).toBe((await leaves[0])?.leaf);
  });

  test.each([
    ['another preference', { headers: { prefer: 'return=minimal, proofs' } }],
    ['no preference', {}],
    ['an async publish', { ...prefer('proof'), async: true }],
  ])('%s is answered without a proof', async (_what, options) => {
    const { headers, body } = await org.publish<Proved>(named('plain'), options);
    expect([headers.get('preference-applied'), body.proof]).toEqual([null, undefined]);
  });
});

/** In a cluster, nothing is searchable within so short a time either. */
(process.env.TEST_STORE === 'cluster' ? describe.skip : describe)('while no checkpoint comes', () => {
  let slow: TestService;
  let late: Org;
  let folder = '';

  beforeAll(async () => {
    // Nothing is published without its witness, which is not there.
    folder = mkdtempSync(join(tmpdir(), 'control-policy-'));
    const policy = join(folder, 'policy');
    writeFileSync(policy, `witness w ${new SampleWitness('w.example').vkey} http://127.0.0.1:1\nquorum w\n`);
    slow = await startService({ env: { CONTROL_TLOG_POLICY: policy, CONTROL_SYNC_TIMEOUT_MS: '150' } });
    late = await newOrg(slow);
  });

  afterAll(async () => {
    await slow?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  test('a publish that prefers a proof is 202: recorded, found and not proven', async () => {
    const { status, headers, body } = await late.publish<Proved>(named('late'), { headers: { prefer: 'proof' } });
    expect([status, headers.get('preference-applied'), body.proof]).toEqual([202, null, undefined]);
    // On a busy machine it may not be indexed yet when the wait is over.
    await untilFound(late, body.id);
  });

  test('proofs and checkpoints are 409 not_integrated, to be tried again', async () => {
    const fresh = await newOrg(slow);
    const { body: published } = await fresh.publish(named('late'));
    for (const path of [
      `${fresh.audit}/id/${published.id}/-proof`,
      `${fresh.audit}/-tlog/checkpoint`,
      `${fresh.audit}/-tlog/head-proof`,
      `${fresh.audit}/-export?proof=true`,
    ]) {
      const { status, headers, body } = await fresh.api.get<Refusal>(path);
      expect([path, status, body.code, headers.get('retry-after')]).toEqual([path, 409, 'not_integrated', '1']);
    }
  });
});

describe('an export with its proof', () => {
  test('has every leaf of its checkpoint, and verifies', async () => {
    await org.bulk(Array.from({ length: 700 }, (_, index) => named(`n${index}`)));
    await checkpointOfSize(org, 700);
    const found = await verifyProven(await provenExport(org), await vkeyOfLog(org));
    expect(found.closed).toBe(0);
    expect(found.events).toBe(found.size);
    expect(found.head?.number).toEqual(expect.any(Number));
  });

  test('has the lines of the plain export, and a cursor behind them', async () => {
    await org.bulk(Array.from({ length: 30 }, (_, index) => named(`n${index}`)));
    await checkpointOfSize(org, 37);
    const { events, proof } = await provenExport(org);
    const plain = (await org.api.get<unknown>(`${org.audit}/-export`)).text;
    const lines = events.toString();
    expect(plain.startsWith(lines)).toBe(true);
    const { cursor } = JSON.parse(proof.toString().trimEnd().split('\n').at(-1) ?? '') as { cursor: string };
    const rest = (await org.api.get<unknown>(`${org.audit}/-export?cursor=${encodeURIComponent(cursor)}`)).text;
    // The plain export ends before the events about itself.
    expect((lines + rest).startsWith(plain.slice(0, plain.lastIndexOf('\n{')))).toBe(true);
  });

  test('has what was published before it began', async () => {
    const vkey = await vkeyOfLog(org);
    for (let round = 0; round < 5; round += 1) {
      await org.publish(named(`just now ${round}`));
      const proven = await provenExport(org);
      expect(proven.events.toString()).toContain(`"just now ${round}"`);
      await verifyProven(proven, vkey);
    }
  });

  test('of some events closes the other leaves, and says why', async () => {
    await org.bulk(Array.from({ length: 40 }, (_, index) => named(index % 4 === 0 ? 'wanted' : 'other')));
    await checkpointOfSize(org, 47);
    const found = await verifyProven(await provenExport(org, { resourceName: 'wanted' }), await vkeyOfLog(org));
    expect([found.events, found.closed]).toEqual([10, found.size - 10]);
    expect(found.reasons).toEqual({ filter: found.closed });
    expect(found.notShown.map(({ kind }) => kind)).toContain('closed');
  });

  test('of a caller who may read one context closes all others', async () => {
    await org.publish(named('a'), { context: 'open' });
    await org.publish(named('b'), { context: 'closed' });
    const reader = await readerOf('open');
    const { size } = await checkpointOfSize(org, 12);
    const proven = await provenExport({ api: reader, audit: org.audit } as Org);
    const found = await verifyProven(proven, await vkeyOfLog(org));
    expect([found.events, proven.events.toString().includes('"b"')]).toEqual([1, false]);
    expect(found.reasons).toEqual({ context: found.closed });
    expect(found.size).toBeGreaterThanOrEqual(size);
  });

  test('closes a repeated identifier as a duplicate, and says so in words', async () => {
    const publish = () => org.publish(named('once'), { idempotencyKey: 'twice' });
    await publish();
    await publish();
    await checkpointOfSize(org, 9);
    const found = await verifyProven(await provenExport(org), await vkeyOfLog(org));
    expect(found.reasons).toEqual({ duplicate: 1 });
    expect(found.notShown[0]?.text).toMatch(/^1 of the history's entries have no event .* 1 sent again/);
  });

  test('continues an earlier checkpoint, whatever is closed', async () => {
    await org.bulk(Array.from({ length: 20 }, (_, index) => named(`n${index}`)));
    const { note, size } = await checkpointOfSize(org, 27);
    await org.bulk(Array.from({ length: 20 }, (_, index) => named(`m${index}`)));
    await checkpointOfSize(org, 47);
    const vkey = await vkeyOfLog(org);
    for (const query of [{}, { resourceName: 'n3' }, { resourceName: 'none' }]) {
      const found = await verifyProven(await provenExport(org, { ...query, pinned: String(size) }), vkey, {
        pinned: note,
      });
      expect(found.pinned?.size).toBe(size);
    }
  });

  test('verifies while publishing goes on', async () => {
    let isOver = false;
    const publishing = (async () => {
      for (let at = 0; !isOver; at += 1)
        await org.bulk(Array.from({ length: 20 }, (_, index) => named(`n${at}-${index}`)));
    })();
    const vkey = await vkeyOfLog(org);
    let before = await checkpointOfSize(org, 1);
    for (let round = 0; round < 8; round += 1) {
      const pinned = { pinned: before.note };
      const found = await verifyProven(await provenExport(org, { pinned: String(before.size) }), vkey, pinned);
      expect([found.closed, found.pinned?.size]).toEqual([0, before.size]);
      before = await checkpointOfSize(org, found.size + 1);
    }
    isOver = true;
    await publishing;
  });

  test('is refused for a size that is none', async () => {
    const { status, body } = await org.api.get<Refusal>(`${org.audit}/-export?proof=true&pinned=-1`);
    expect([status, body.code]).toEqual([400, 'validation_failed']);
  });
});

describe('an export of events that expired', () => {
  const DAY = 86_400_000;
  let ahead = 0;
  let aging: TestService;

  beforeAll(async () => {
    aging = await startService({ clock: { now: () => Date.now() + ahead }, env: SEALED_OFTEN });
  });

  afterAll(() => aging?.remove());

  test('closes their leaves, which the checkpoint of before still proves', async () => {
    const of = await newOrg(aging);
    await of.bulk(Array.from({ length: 12 }, (_, index) => named(`n${index}`)));
    const retention = JSON.stringify({ retentionDays: 1 });
    await of.api.send('PUT', `${of.audit}/auditctx/app`, retention, { 'content-type': 'application/json' });
    const { note, size } = await checkpointOfSize(of, 20);
    ahead = 3 * DAY;
    const proven = await provenExport(of, { pinned: String(size) });
    const found = await verifyProven(proven, await vkeyOfLog(of), { pinned: note });
    expect(found.reasons).toEqual({ expired: 12 });
    expect(found.events).toBe(found.size - 12);
  });
});
