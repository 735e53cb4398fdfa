import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compiledMain, removeCompiled, type ServiceProcess, spawnService } from '../faults/process.js';
import { Api, Org, type OrgBody } from '../support/api.js';
import { TEST_SECRETS } from '../support/secrets.js';
import { scaled, Tally, tell } from './scale.js';

const CLIENTS = 24;
const ROUNDS = scaled(2, 20);
/** What Node gives a process in a container of 512 MiB: the flag of the image, and half of the container for old objects. */
const ENV = { ...TEST_SECRETS, NODE_OPTIONS: '--max-semi-space-size=32 --max-old-space-size=256' };
const MOST_RESIDENT_MIB = 512;

const ITEM = JSON.stringify({ event: { resource: { name: 'r', data: { fill: 'y'.repeat(13_800) } } } });
const BULK = Buffer.from(`[${Array.from({ length: 500 }, () => ITEM).join(',')}]`);

const dataDir = mkdtempSync(join(tmpdir(), 'control-bodies-'));
let child: ServiceProcess;
let org: Org;

beforeAll(async () => {
  child = spawnService(compiledMain(), dataDir, ENV);
  const url = await child.listening;
  const { body } = await new Api(url, TEST_SECRETS.CONTROL_ROOT_KEY).post<OrgBody>('/org', { name: 'acme' });
  org = new Org(url, 'acme', body.key);
});

afterAll(async () => {
  await child?.end('SIGKILL');
  rmSync(dataDir, { recursive: true, force: true });
  removeCompiled();
});

/** The status, and whether a refusal says when to come again. */
function bulk(how: 'with its length' | 'chunked'): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${org.key}`,
      'content-type': 'application/json',
      ...(how === 'with its length' ? { 'content-length': BULK.length } : { 'transfer-encoding': 'chunked' }),
    };
    const url = new URL(`${org.audit}/auditctx/default/-bulk?async=true`, org.api.url);
    const sent = request(url, { method: 'POST', agent: false, headers }, (answer) => {
      const retry = answer.headers['retry-after'] === undefined ? '' : ' with Retry-After';
      answer.resume().once('end', () => resolve(`${answer.statusCode}${retry}`));
    });
    sent.once('error', reject);
    sent.end(BULK);
  });
}

/** Only Linux tells what another process has. */
const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux(
  '24 clients with bulks of 7 MB are served or told to come again, within 512 MiB',
  async () => {
    const tally = new Tally();
    const client = async () => {
      for (let round = 0; round < ROUNDS; round += 1) tally.add(await bulk('with its length'));
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    const most = Math.round(Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024);
    tell(`${CLIENTS} clients, ${ROUNDS} bulks each: ${tally}; at most ${most} MiB resident`);
    expect(tally.of('200')).toBeGreaterThan(0);
    expect(tally.of('200') + tally.of('429 with Retry-After')).toBe(tally.total);
    expect(most).toBeLessThan(MOST_RESIDENT_MIB);
    expect((await org.publish({ resource: { name: 'after' } })).status).toBe(201);
  },
  300_000,
);

test('a chunked body counts as it comes, and its share is free again when it is answered', async () => {
  for (let round = 0; round < 6; round += 1) expect(await bulk('chunked')).toBe('200');
  for (let round = 0; round < 6; round += 1) expect(await bulk('with its length')).toBe('200');
}, 120_000);
