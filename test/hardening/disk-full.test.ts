import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '../faults/client.js';
import { type Random, randomFor } from '../support/random.js';
import { startService } from '../support/service.js';
import { canMountTmpfs, mountTmpfs } from '../support/tmpfs.js';
import { scaled, Tally, tell } from './scale.js';

const PATH = '/audit/org/acme/auditctx/app';
/** More than ever fit; a round that gets here has not filled its disk. */
const MOST_EVENTS = 20_000;

const canMount = canMountTmpfs();

function textOf(random: Random, n: number): string {
  const fill = random.pick(['x', 'ß', '😀']).repeat(random.whole(1, random.pick([50, 2_000, 30_000])));
  return JSON.stringify({ resource: { name: `event ${n}`, data: { n, fill } } });
}

interface Acknowledged {
  /** The resource of each event that was acknowledged, by its identifier. */
  readonly events: ReadonlyMap<string, unknown>;
  readonly refusals: Tally;
}

/** Publishes events of random sizes, a few at once, until the service has refused some. */
async function fill(client: Client, random: Random): Promise<Acknowledged> {
  const events = new Map<string, unknown>();
  const refusals = new Tally();
  let n = 0;
  const publish = async () => {
    while (refusals.total < 20) {
      n += 1;
      if (n > MOST_EVENTS) throw new Error('the disk is not full');
      const text = textOf(random, n);
      const answer = await client.post(`${PATH}${random.chance(0.5) ? '?async=true' : ''}`, text);
      const body = JSON.parse(answer.text) as { id: string; code?: string };
      if (answer.status === 201 || answer.status === 202) events.set(body.id, JSON.parse(text).resource);
      else refusals.add(`${answer.status} ${body.code}`);
    }
  };
  await Promise.all([publish(), publish(), publish(), publish()]);
  return { events, refusals };
}

const rounds = Array.from({ length: scaled(4, 10) }, (_, round) => round);

(canMount ? test : test.skip).each(rounds)(
  'all that was acknowledged until the disk was full is there, unaltered, after a restart with space: round %d',
  async (round) => {
    const random = randomFor(`disk ${round}`);
    const size = random.whole(1_200, 4_000);
    const dataDir = mkdtempSync(join(tmpdir(), 'control-disk-'));
    mountTmpfs(dataDir, `size=${size}k,mode=0700`);
    try {
      const env = { CONTROL_SYNC_TIMEOUT_MS: '100' };
      const full = await startService({ dataDir, env });
      const acme = await new Client(full.url, full.rootKey).org('acme');
      const { events, refusals } = await fill(acme, random);
      await full.stop();
      mountTmpfs(dataDir, 'remount,size=64m');
      const service = await startService({ dataDir });
      const client = new Client(service.url, acme.key);
      const listed = await client.all('/audit/org/acme?contextName=app&order=received&pageSize=1000');
      const found = new Map(listed.map(({ id, resource }) => [id, resource]));
      const after = await client.post(PATH, { resource: { name: 'after' } });
      await service.stop();
      tell(`disk of ${size} KiB: ${events.size} events acknowledged; refused: ${refusals}`);
      expect([...refusals.counts.keys()]).toEqual(['503 log_unavailable']);
      expect([...events].filter(([id]) => !found.has(id))).toEqual([]);
      for (const [id, resource] of events) expect(found.get(id)).toEqual(resource);
      expect(found.size).toBe(events.size);
      expect(after.status).toBe(201);
    } finally {
      execFileSync('umount', [dataDir]);
      rmSync(dataDir, { recursive: true, force: true });
    }
  },
);
