import type { TlogStatus } from '../../src/sealing/status.js';
import { EMPTY_ROOT, leafHash } from '../../src/tlog/hash.js';
import { verifyHead } from '../../src/tlog/head-proof.js';
import { ENTRY_BYTES } from '../../src/tlog/leaf.js';
import { CompactRange, consistencyPath, verifyConsistency } from '../../src/tlog/merkle.js';
import { openNote, parseVkey, vkeyOf } from '../../src/tlog/note.js';
import { parseEntryBundle, TILE_WIDTH, tilePath } from '../../src/tlog/tile.js';
import { tileNodes } from '../../src/tlog/tile-nodes.js';
import { Trusted } from '../../src/tlog/trust.js';
import { Api, newOrg, type Org, type Refusal } from '../support/api.js';
import { checkpointed, checkpointOf, checkpointOfSize, SEALED_OFTEN, vkeyOfLog } from '../support/proofs.js';
import { startService, type TestService } from '../support/service.js';

const EVENTS = 300;
const IMMUTABLE = 'private, max-age=31536000, immutable';

let service: TestService;
let org: Org;

beforeAll(async () => {
  service = await startService({ env: SEALED_OFTEN });
  org = await newOrg(service);
  await org.bulk(Array.from({ length: EVENTS }, (_, index) => ({ resource: { name: `r${index % 3}` } })));
});

afterAll(() => service?.remove());

async function bytesAt(path: string, { url, key = '' }: { url: string; key?: string | undefined } = org.api) {
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

const tileAt = (path: string) => bytesAt(`${org.audit}/-tlog/${path}`);

/** All entries of a log, read as any tlog-tiles client reads them. */
async function entriesOf(size: number, at = tileAt): Promise<Buffer[]> {
  const entries: Buffer[] = [];
  for (let index = 0; index * TILE_WIDTH < size; index += 1) {
    const width = Math.min(TILE_WIDTH, size - index * TILE_WIDTH);
    const { status, bytes } = await at(tilePath({ level: 'entries', index, width }));
    expect(status).toBe(200);
    entries.push(...parseEntryBundle(bytes));
  }
  return entries;
}

function rootOf(entries: readonly Buffer[]): Buffer {
  const range = new CompactRange();
  for (const entry of entries) range.append(leafHash(entry));
  return entries.length === 0 ? EMPTY_ROOT : range.root();
}

test('the signed root is that of the served entries, a leaf an event', async () => {
  const { events } = await checkpointed(org);
  const { origin, size, root, cut } = await checkpointOf(org);
  expect(origin).toMatch(new RegExp(`/audit/org/${org.name}/-tlog$`));
  expect(cut).toMatchObject({ n: expect.any(Number), complete: expect.any(Number), at: expect.any(Number) });
  const entries = await entriesOf(size);
  expect(entries.map(({ length }) => length)).toEqual(Array.from({ length: size }, () => ENTRY_BYTES));
  expect(rootOf(entries)).toEqual(root);
  expect(size).toBe(events);
});

test('texts and tiles have their content types, and only tiles are cached', async () => {
  const { size } = await checkpointOf(org);
  const { headers } = await org.api.get<unknown>(`${org.audit}/-tlog/checkpoint`);
  expect([headers.get('content-type'), headers.get('cache-control')]).toEqual([
    'text/plain; charset=utf-8',
    'no-cache',
  ]);
  for (const path of ['tile/0/000', 'tile/entries/000', `tile/0/001.p/${size - TILE_WIDTH}`, 'tile/1/000.p/1']) {
    const tile = await tileAt(path);
    expect([path, tile.status, tile.headers.get('content-type')]).toEqual([path, 200, 'application/octet-stream']);
    expect(tile.headers.get('cache-control')).toBe(IMMUTABLE);
  }
});

test('a tile is the hashes of its leaves, and one above it the root of a full one', async () => {
  const entries = await entriesOf((await checkpointOf(org)).size);
  const [full, above] = [await tileAt('tile/0/000'), await tileAt('tile/1/000.p/1')];
  expect(full.bytes).toEqual(Buffer.concat(entries.slice(0, TILE_WIDTH).map(leafHash)));
  expect(above.bytes).toEqual(rootOf(entries.slice(0, TILE_WIDTH)));
  const partial = await tileAt('tile/0/001.p/5');
  expect(partial.bytes).toEqual(Buffer.concat(entries.slice(TILE_WIDTH, TILE_WIDTH + 5).map(leafHash)));
});

test.each([
  'tile/0/002',
  'tile/0/001',
  'tile/1/000',
  'tile/1/000.p/2',
  'tile/entries/001',
  'tile/0/x000/000',
  'tile/0/000.p/0',
  'tile/0/000.p/257',
  'tile/0/000.p/256',
  'tile/64/000',
  'tile/0/0',
  'tile/0/..%2f000',
  'tile/data/000',
])('%s is not there, and 404', async (path) => {
  expect((await tileAt(path)).status).toBe(404);
});

test('a later checkpoint continues an earlier one, as its tiles show', async () => {
  const before = await checkpointOf(org);
  await org.publish({ resource: { name: 'later' } });
  const after = await checkpointOfSize(org, before.size + 1);
  const nodes = tileNodes(after.size, async (tile) => (await tileAt(tilePath(tile))).bytes);
  const path = await consistencyPath(before.size, after.size, nodes);
  verifyConsistency(before.size, before.root, after.size, after.root, path);
});

test('the head proof shows the checkpoint in the service log under its number', async () => {
  const vkey = await vkeyOfLog(org);
  const { text: proof } = await org.api.get<unknown>(`${org.audit}/-tlog/head-proof`);
  const trusted = new Trusted({ vkeys: [vkey] });
  const other = await newOrg(service);
  await checkpointed(other);
  const numbers = [];
  for (const one of [org, other]) {
    const { note } = await checkpointOf(one);
    const open = new Trusted({ vkeys: [await vkeyOfLog(one)] }).open(note, 'it');
    const { text } = await one.api.get<unknown>(`${one.audit}/-tlog/head-proof`);
    numbers.push(verifyHead(text, open, new Trusted({ vkeys: [await vkeyOfLog(one)] })).number);
  }
  expect(new Set(numbers).size).toBe(2);
  const { note } = await checkpointOf(other);
  const foreign = new Trusted({ vkeys: [await vkeyOfLog(other)] }).open(note, 'it');
  expect(() => verifyHead(proof, foreign, trusted)).toThrow('another checkpoint');
});

test('the service log has an entry a cut, and its checkpoint is that of them', async () => {
  const api = new Api(service.url, org.key);
  const { status, text } = await api.get<unknown>('/audit/-tlog/checkpoint');
  expect(status).toBe(200);
  const { publicKey } = parseVkey(await vkeyOfLog(org));
  const origin = text.slice(0, text.indexOf('\n'));
  expect(origin).toMatch(/\/audit\/-tlog$/);
  openNote(text, [vkeyOf(origin, publicKey)]);
  const [, size = '', root] = text.split('\n');
  const entries = await entriesOf(Number(size), (path) => bytesAt(`/audit/-tlog/${path}`));
  expect(rootOf(entries).toString('base64')).toBe(root);
  expect(entries[0]?.toString()).toMatch(/^control-cut\/v1\n1\n/);
  expect((await api.get<unknown>('/audit/-tlog/vkey')).text).toContain(vkeyOf(origin, publicKey));
});

test('the service log is for holders of a key, unless it is made public', async () => {
  const paths = ['checkpoint', 'vkey', 'tile/0/000.p/1'].map((name) => `/audit/-tlog/${name}`);
  const statuses = async (url: string) => Promise.all(paths.map(async (path) => (await fetch(url + path)).status));
  expect(await statuses(service.url)).toEqual([401, 401, 401]);
  const open = await startService({ env: { ...SEALED_OFTEN, CONTROL_TLOG_PUBLIC: 'true' } });
  try {
    await checkpointed(await newOrg(open));
    expect(await statuses(open.url)).toEqual([200, 200, 200]);
    expect((await fetch(open.url + paths[2])).headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect((await fetch(`${open.url}/audit/org/org-1/-tlog/checkpoint`)).status).toBe(401);
  } finally {
    await open.remove();
  }
});

test('an organization sees nothing of the log of another, nor learns whether two events are alike', async () => {
  const other = await newOrg(service);
  const event = { resource: { name: 'the same' }, eventTime: '2026-01-01T00:00:00.000Z' };
  await Promise.all([org.publish(event), other.publish(event), org.publish(event)]);
  await checkpointed(other);
  for (const name of ['checkpoint', 'vkey', 'head-proof', 'tile/0/000.p/1', 'tile/entries/000.p/1']) {
    const { status, body } = await other.api.get<Refusal>(`${org.audit}/-tlog/${name}`);
    expect([name, status, body.code]).toEqual([name, 403, 'forbidden']);
  }
  const entries = await Promise.all([entriesOf((await checkpointOf(org)).size), otherEntries(other)]);
  const commitments = entries.flat().map((entry) => entry.subarray(9).toString('hex'));
  expect(new Set(commitments).size).toBe(commitments.length);
});

async function otherEntries(other: Org): Promise<Buffer[]> {
  const { size } = await checkpointOf(other);
  return entriesOf(size, (path) => bytesAt(`${other.audit}/-tlog/${path}`, other.api));
}

test.each(['checkpoint?x=1', 'vkey?x=1', 'head-proof?x=1', 'tile/0/000.p/1?x=1'])(
  '%s is refused: it has a parameter',
  async (name) => {
    const { status, body } = await org.api.get<Refusal>(`${org.audit}/-tlog/${name}`);
    expect([status, body.code]).toEqual([400, 'validation_failed']);
  },
);

test('the status says how far the log is sealed, to the root key alone', async () => {
  await checkpointed(org);
  const root = new Api(service.url, service.rootKey);
  const { status, body } = await root.get<TlogStatus>('/-tlog-status');
  const { bytes } = await bytesAt('/audit/-tlog/checkpoint');
  const [origin, size] = bytes.toString().split('\n');
  expect(status).toBe(200);
  expect(body).toMatchObject({ kind: 'tlogstatus', seals: true, origin, epoch: 1, divergence: null, stalled: null });
  expect(body).toMatchObject({ witnesses: [], anchors: [], lagSeconds: expect.any(Number) });
  expect(body.quorum).toBeUndefined();
  expect(body.checkpoint?.size).toBeLessThanOrEqual(Number(size));
  expect(Date.parse(body.checkpoint?.complete ?? '')).toBeLessThanOrEqual(Date.parse(body.checkpoint?.at ?? ''));
  const { bytes: vkeys } = await bytesAt('/audit/-tlog/vkey');
  expect(vkeys.toString()).toContain(body.vkey);
  expect((await org.api.get<Refusal>('/-tlog-status')).status).toBe(403);
});
