/**
 * Where the CPU time of an event goes: profiles the service under one load, and adds up the samples by the folder of the
 * sources, or the package, that was running or had called what was running.
 *
 *     npm run build && npx node test/bench/profile.ts [sync|async|bulk|otlp] [seconds]
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Generator } from './generator.ts';
import { asyncPublish, bulkPublish, measure, otlp, syncPublish } from './loads.ts';
import { createOrg, DIST, startService } from './server.ts';

interface Node {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
    readonly columnNumber: number;
  };
  readonly children?: readonly number[];
}

interface Profile {
  readonly nodes: readonly Node[];
  readonly samples: readonly number[];
  /** In microseconds. */
  readonly timeDeltas: readonly number[];
}

const LOADS = { sync: syncPublish, async: asyncPublish, bulk: bulkPublish, otlp };
/** A folder of the sources; of `platform`, which holds many ideas, a file. */
const OWN = /^(?!.*node_modules).*\/src\/(platform\/.*|.+(?=\/[^/]*$))/;
/** Less than this share is not shown. */
const SMALL = 0.01;

/** By file. */
const maps = new Map<string, SourceMap>();

const [, , name = 'sync', seconds = '20'] = process.argv;
if (!Object.hasOwn(LOADS, name))
  throw new Error(`there is no load ${name}; there are ${Object.keys(LOADS).join(', ')}`);

const folder = mkdtempSync(join(tmpdir(), 'control-bench-'));
const generator = new Generator();
const service = await startService(join(folder, 'data'), ['--cpu-prof', `--cpu-prof-dir=${join(folder, 'profiles')}`]);
try {
  const load = LOADS[name as keyof typeof LOADS](service, await createOrg(service.url, 'bench'));
  const { cpu } = await measure(generator, load, Number(seconds), 'profiled');
  await service.stop();
  // Each thread has its own.
  const files = readdirSync(join(folder, 'profiles')).map((file) => join(folder, 'profiles', file));
  const threads = files.map((file) => timesOf(JSON.parse(readFileSync(file, 'utf8'))));
  const active = threads.reduce((sum, { busy }) => sum + busy, 0);
  for (const thread of threads) tell(thread, (cpu * 1000) / active);
} finally {
  generator.close();
  rmSync(folder, { recursive: true });
}

interface Times {
  readonly places: ReadonlyMap<string, number>;
  readonly busy: number;
  readonly idle: number;
}

/** Shares of the CPU time that the kernel counted: the profile's own times include waits for a processor and for the disk. */
function tell({ places, busy, idle }: Times, each: number): void {
  const out = (text: string) => process.stdout.write(`${text}\n`);
  out(`\na thread, ${((100 * busy) / (busy + idle)).toFixed(0)} % busy: ${(busy * each).toFixed(0)} us CPU an event`);
  for (const [place, time] of [...places].sort(([, a], [, b]) => b - a)) {
    if (time < SMALL * busy) continue;
    out(`${(time * each).toFixed(1).padStart(8)} us ${((100 * time) / busy).toFixed(0).padStart(3)} %  ${place}`);
  }
}

function timesOf({ nodes, samples, timeDeltas }: Profile): Times {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const sources = new Map(nodes.map((node) => [node.id, sourceOf(node)]));
  const placeOfNode = new Map(nodes.map((node) => [node.id, placeOf(node, chain(node.id, parents, sources))]));
  const places = new Map<string, number>();
  for (const [index, id] of samples.entries()) {
    const place = placeOfNode.get(id) ?? '';
    places.set(place, (places.get(place) ?? 0) + (timeDeltas[index] ?? 0));
  }
  const idle = places.get('(idle)') ?? 0;
  places.delete('(idle)');
  return { places, busy: [...places.values()].reduce((sum, time) => sum + time, 0), idle };
}

/** The sources of a frame and of its callers. */
function* chain(id: number, parents: ReadonlyMap<number, number>, sources: ReadonlyMap<number, string>) {
  for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) yield sources.get(at) ?? '';
}

/** The nearest folder of the sources; without one, the nearest package. */
function placeOf({ callFrame: { functionName } }: Node, callers: Iterable<string>): string {
  if (functionName.startsWith('(')) return functionName;
  const all = [...callers];
  const own = all.map((source) => OWN.exec(source)).find((found) => found !== null);
  if (own) return own[1] ?? '';
  const packages = all.map((source) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1]);
  return packages.find(Boolean) ?? 'node';
}

function sourceOf({ callFrame: { url, lineNumber, columnNumber } }: Node): string {
  const file = join(DIST, 'bundle', `${basename(url)}.map`);
  if (!url.includes('/dist/bundle/') || !existsSync(file)) return url;
  const map = maps.get(file) ?? new SourceMap(JSON.parse(readFileSync(file, 'utf8')));
  maps.set(file, map);
  const entry = map.findEntry(lineNumber, columnNumber);
  return 'originalSource' in entry ? entry.originalSource : url;
}
