import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { resourceName } from './events.ts';
import { type Options, Rounds, say } from './figures.ts';
import { Generator, httpRequest } from './generator.ts';
import { type Load, run, syncPublish } from './loads.ts';
import { EVENTS_A_RESOURCE, seed } from './seed.ts';
import { createOrg, ROOT_KEY, type Server, startProcess, startService, stop } from './server.ts';

const WARM_UP_SECONDS = 10;
const POLL_MS = 100;
/** Resources of the events whose proofs are asked for, and how many events of each. */
const PROVEN = { resources: 40, each: 50 };
const PROOFS = 2_000;

export const TRUST_FIGURES = ['trust-cpu', 'prove'];

export async function measureTrust(options: Options, wanted: ReadonlySet<string>): Promise<Rounds> {
  await using started = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'control-bench-trust-'));
  started.defer(() => rmSync(folder, { recursive: true }));
  const generator = started.adopt(new Generator(), (process) => process.close());
  const results = new Rounds();
  if (wanted.has('trust-cpu')) await measureCpu(folder, generator, options, results);
  if (wanted.has('prove')) await measureProofs(join(folder, 'proven'), generator, options, results);
  return results;
}

/** CPU of sync publishes with everything sealed that was published, over the same without sealing, in turns. */
async function measureCpu(folder: string, generator: Generator, { rounds, seconds }: Options, results: Rounds) {
  await using started = new AsyncDisposableStack();
  const sealing = started.adopt(await startService(join(folder, 'sealing')), stop);
  const noKey = join(folder, 'no.key');
  writeFileSync(noKey, 'no key: nothing is sealed\n');
  const data = join(folder, 'unsealed');
  mkdirSync(data);
  const unsealed = started.adopt(
    await startProcess({ CONTROL_DATA_DIR: data, CONTROL_CHECKPOINT_KEY_FILE: noKey }),
    stop,
  );
  const [withIt, without] = [sealing, unsealed].map((server) => ({ server, key: createOrg(server.url, 'bench') }));
  if (!withIt || !without) return;
  const loads = [syncPublish(withIt.server, await withIt.key), syncPublish(without.server, await without.key)] as const;
  const cpu = async (server: Server, load: Load, limit: number): Promise<number> => {
    const before = server.cpuMs() ?? Number.NaN;
    const { answered } = await run(generator, load, limit);
    if (server === sealing) await sealed(server);
    return ((server.cpuMs() ?? Number.NaN) - before) / answered;
  };
  for (let round = 0; round <= rounds; round += 1) {
    const limit = round === 0 ? WARM_UP_SECONDS : seconds;
    const [one, other] = [await cpu(sealing, loads[0], limit), await cpu(unsealed, loads[1], limit)];
    say(`round ${round}: ${(one * 1000).toFixed(0)} us CPU an event, ${(other * 1000).toFixed(0)} without sealing`);
    if (round > 0) results.add([['trust-cpu', one / other]]);
  }
}

/** Resolves when a published checkpoint covers everything. */
async function sealed(server: Server): Promise<void> {
  for (;;) {
    const answer = await fetch(`${server.url}/-tlog-status`, { headers: { authorization: `Bearer ${ROOT_KEY}` } });
    const { checkpoint, lagSeconds } = (await answer.json()) as { checkpoint?: unknown; lagSeconds: number };
    if (checkpoint && lagSeconds === 0) return;
    await delay(POLL_MS);
  }
}

/** The proof of one event among so many, p50 in milliseconds. */
async function measureProofs(
  folder: string,
  generator: Generator,
  { rounds, seconds, events }: Options,
  results: Rounds,
) {
  const key = await seed(folder, events);
  const server = await startService(folder);
  try {
    await sealed(server);
    const headers = { authorization: `Bearer ${key}` };
    const ids = await someIds(server, headers, events);
    const requests = ids.map((id) => httpRequest('GET', `/audit/org/bench/id/${id}/-proof`, headers));
    for (let round = 0; round <= rounds; round += 1) {
      const job = { port: server.port, requests, connections: 1, seconds, most: PROOFS, status: '200' };
      const { p50, p99 } = await generator.run(job);
      say(`round ${round}: proof of one of ${events} events, p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`);
      if (round > 0) results.add([['prove', p50]]);
    }
  } finally {
    await server.stop();
  }
}

async function someIds(server: Server, headers: Readonly<Record<string, string>>, events: number): Promise<string[]> {
  const resources = events / EVENTS_A_RESOURCE;
  const ids: string[] = [];
  for (let nth = 0; nth < PROVEN.resources; nth += 1) {
    const name = encodeURIComponent(resourceName(Math.floor((nth * resources) / PROVEN.resources)));
    const answer = await fetch(`${server.url}/audit/org/bench/resource/name/${name}?pageSize=${PROVEN.each}`, {
      headers,
    });
    const { items } = (await answer.json()) as { items: readonly { id: string }[] };
    ids.push(...items.map(({ id }) => id));
  }
  return ids.sort(() => Math.random() - 0.5);
}
