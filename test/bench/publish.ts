import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Options, Rounds } from './figures.ts';
import { Generator } from './generator.ts';
import * as loads from './loads.ts';
import { Peer } from './peers/postgres.ts';
import { rebuild } from './rebuild.ts';
import { seed } from './seed.ts';
import { createOrg, Server, type Stoppable, startService, stop } from './server.ts';

/** Until the compiler has seen enough: with 3 s, the first rounds still took up to half as much again. */
const WARM_UP_SECONDS = 10;
/** The read model of so many is rebuilt in each round. */
const REBUILT_EVENTS = 100_000;

interface Comparison {
  readonly of: string;
  readonly to: string;
  readonly by: 'events' | 'cpu';
}

const COMPARISONS: Readonly<Record<string, Comparison>> = {
  'sync-over-postgres': { of: 'sync', to: 'peer', by: 'events' },
  'sync-cpu-over-postgres': { of: 'sync', to: 'peer', by: 'cpu' },
  'bulk-over-postgres': { of: 'bulk', to: 'peer bulk', by: 'events' },
  'bulk-cpu-over-postgres': { of: 'bulk', to: 'peer bulk', by: 'cpu' },
  'sync-over-echo': { of: 'sync', to: 'echo', by: 'events' },
  'sync-cpu-over-echo': { of: 'sync', to: 'echo', by: 'cpu' },
  'sync-over-async': { of: 'sync', to: 'async', by: 'events' },
  'ingest-over-bulk': { of: 'ingest', to: 'bulk', by: 'events' },
  'otlp-over-bulk': { of: 'otlp', to: 'bulk', by: 'events' },
  'rebuild-over-bulk': { of: 'rebuild', to: 'bulk', by: 'events' },
};

/** The one figure that compares a load with itself. */
const TAIL = 'sync-p99-over-p50';

export const PUBLISH_FIGURES = [...Object.keys(COMPARISONS), TAIL];

/** The service, the echo and the peer, each in processes of its own, in turns under the same load. */
export async function measurePublish(options: Options, wanted: ReadonlySet<string>): Promise<Rounds> {
  await using started = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'control-bench-'));
  started.defer(() => rmSync(folder, { recursive: true }));
  const used = new Set(
    Object.entries(COMPARISONS).flatMap(([figure, { of, to }]) => (wanted.has(figure) ? [of, to] : [])),
  );
  const steps = await stepsOf(folder, used, started);
  for (const step of steps) await step.measure(WARM_UP_SECONDS, 'warm-up');
  const rounds = new Rounds();
  for (let round = 1; round <= options.rounds; round += 1) {
    const measured = new Map<string, loads.Measured>();
    for (const { name, measure } of steps) measured.set(name, await measure(options.seconds, `round ${round}`));
    rounds.add(ratiosOf(measured));
  }
  return rounds;
}

interface Step {
  readonly name: string;
  measure(seconds: number, label: string): Promise<loads.Measured>;
}

/** What each round does, in this order. */
async function stepsOf(folder: string, used: ReadonlySet<string>, started: AsyncDisposableStack): Promise<Step[]> {
  const keep = <Kept extends Stoppable>(server: Kept) => started.adopt(server, stop);
  const generator = started.adopt(new Generator(), (process) => process.close());
  const step = (load: loads.Load): Step => ({
    name: load.name,
    measure: (seconds, label) => loads.measure(generator, load, seconds, label),
  });
  const service = keep(await startService(join(folder, 'service')));
  const key = await createOrg(service.url, 'bench');
  const sync = loads.syncPublish(service, key);
  const steps = [step(sync)];
  if (used.has('echo'))
    steps.push(step(loads.echo(keep(await Server.start(join(import.meta.dirname, 'peers/echo.ts'))))));
  if (used.has('async')) {
    const measure: Step['measure'] = async (seconds, label) => {
      const measured = await loads.measure(generator, loads.asyncPublish(service, key), seconds, label);
      // What is left to be indexed is not to weigh on the next load: a sync publish waits for it.
      await loads.run(generator, sync, 30, 1);
      return measured;
    };
    steps.push({ name: 'async', measure });
  }
  const peer = used.has('peer') || used.has('peer bulk') ? await Peer.start() : undefined;
  if (peer) keep(peer);
  if (peer && used.has('peer')) steps.push(step(loads.peerInsert(peer)));
  if (used.has('bulk')) steps.push(step(loads.bulkPublish(service, key)));
  if (used.has('ingest')) steps.push(step(loads.ingest(service, key)));
  if (used.has('otlp')) steps.push(step(loads.otlp(service, key)));
  if (peer && used.has('peer bulk')) steps.push(step(loads.peerBulk(peer)));
  if (used.has('rebuild')) {
    const data = join(folder, 'rebuilt');
    await seed(data, REBUILT_EVENTS);
    const rebuilt = keep(await startService(data));
    steps.push({ name: 'rebuild', measure: (_, label) => rebuild(rebuilt, REBUILT_EVENTS, label) });
  }
  return steps;
}

function ratiosOf(measured: ReadonlyMap<string, loads.Measured>): Map<string, number> {
  const ratios = new Map<string, number>();
  for (const [figure, { of, to, by }] of Object.entries(COMPARISONS)) {
    const [over, under] = [measured.get(of), measured.get(to)];
    if (over && under) ratios.set(figure, over[by] / under[by]);
  }
  const sync = measured.get('sync');
  if (sync) ratios.set(TAIL, sync.p99 / sync.p50);
  return ratios;
}
