import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resourceName } from './events.ts';
import { type Options, Rounds, say } from './figures.ts';
import { Generator, httpRequest } from './generator.ts';
import { Peer } from './peers/postgres.ts';
import { EVENTS_A_RESOURCE, seed, seedPeer } from './seed.ts';
import { startService, stop, type Target } from './server.ts';

const SIZES = { few: 10_000, many: 1_000_000 };
const PAGE = 50;
const WARM_UP_REQUESTS = 2_000;
const REQUESTS = 20_000;

export const LIST_FIGURES = ['list-at-a-million', 'list-over-postgres'];

/** The events of one resource, newest first. */
interface Listed {
  readonly target: Target;
  readonly resources: number;
  path(name: string): string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Lists of random resources with the same number of events: among few, among many, and in the peer's table, in turns. */
export async function measureList({ rounds, seconds }: Options, wanted: ReadonlySet<string>): Promise<Rounds> {
  await using started = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'control-bench-list-'));
  started.defer(() => rmSync(folder, { recursive: true }));
  const generator = started.adopt(new Generator(), (process) => process.close());
  const many = await ofService(join(folder, 'many'), SIZES.many, started);
  const few = wanted.has('list-at-a-million') ? await ofService(join(folder, 'few'), SIZES.few, started) : undefined;
  const peer = wanted.has('list-over-postgres') ? await ofPeer(SIZES.many, started) : undefined;
  const p50 = async (listed: Listed, most: number, limit: number) => (await list(generator, listed, most, limit)).p50;
  for (const listed of [many, few, peer]) if (listed) await p50(listed, WARM_UP_REQUESTS, 60);
  const results = new Rounds();
  for (let round = 1; round <= rounds; round += 1) {
    const among = await p50(many, REQUESTS, seconds);
    const tell = (what: string, ms: number) => say(`round ${round}: list p50 ${ms.toFixed(3)} ms ${what}`);
    tell('among a million', among);
    for (const [figure, other, what] of [
      ['list-at-a-million', few, 'among ten thousand'],
      ['list-over-postgres', peer, 'of PostgreSQL, among a million'],
    ] as const) {
      if (!other) continue;
      const ms = await p50(other, REQUESTS, seconds);
      tell(what, ms);
      results.add([[figure, among / ms]]);
    }
  }
  return results;
}

async function ofService(folder: string, events: number, started: AsyncDisposableStack): Promise<Listed> {
  const key = await seed(folder, events);
  const target = started.adopt(await startService(folder), stop);
  const path = (name: string) => `/audit/org/bench/resource/name/${name}?pageSize=${PAGE}`;
  return { target, resources: events / EVENTS_A_RESOURCE, path, headers: { authorization: `Bearer ${key}` } };
}

async function ofPeer(events: number, started: AsyncDisposableStack): Promise<Listed | undefined> {
  const peer = await Peer.start();
  if (!peer) return undefined;
  started.adopt(peer, stop);
  await seedPeer(peer, events);
  const path = (name: string) => `/events?resourceName=${name}`;
  return { target: peer, resources: events / EVENTS_A_RESOURCE, path, headers: {} };
}

function list(generator: Generator, { target, resources, path, headers }: Listed, most: number, seconds: number) {
  const requests = Array.from({ length: most }, () => {
    const name = encodeURIComponent(resourceName(Math.floor(Math.random() * resources)));
    return httpRequest('GET', path(name), headers);
  });
  return generator.run({ port: target.port, requests, connections: 1, seconds, most, status: '200' });
}
