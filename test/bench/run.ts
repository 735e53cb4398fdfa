/**
 * Measures the service against the bars that it has set itself: one JSON line a figure on standard output, the rounds
 * on standard error. Exit code 1 when a bar is missed. `docs/performance.md` explains the figures.
 *
 *     node test/bench/run.ts [--cluster] [--only NAME] [--rounds 7] [--seconds 3]
 *
 * With `--cluster` the figures are those on Kafka and Elasticsearch, and no others.
 */
import { parseArgs } from 'node:util';
import { CLUSTER_FIGURES, FIGURES, median, meets, type Options, type Ratios, say } from './figures.ts';
import { measureList } from './list.ts';
import { measurePublish } from './publish.ts';
import { measureVersion } from './version.ts';

const { values } = parseArgs({
  options: {
    cluster: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '3' },
  },
});
const options: Options = { rounds: Number(values.rounds), seconds: Number(values.seconds) };
const figures = values.cluster ? CLUSTER_FIGURES : FIGURES;
const wanted = new Set(values.only ?? figures.map(({ figure }) => figure));
for (const name of wanted) {
  if (figures.some(({ figure }) => figure === name)) continue;
  throw new Error(`there is no figure ${name}; there are ${figures.map(({ figure }) => figure).join(', ')}`);
}

const PUBLISH = ['publish-rate', 'publish-cpu', 'sync-over-async', 'bulk-over-single'];

let missed = false;
if (wanted.has('svc-version')) report(measureVersion(options));
if (PUBLISH.some((figure) => wanted.has(figure))) report(await measurePublish(options, wanted));
if (wanted.has('list-at-a-million')) report(await measureList(options));
if (values.cluster) {
  // Only here: it takes what the other figures do without.
  const { measureCluster } = await import('./cluster.ts');
  report(await measureCluster(options, wanted));
}
process.exitCode = missed ? 1 : 0;

function report(ratios: Ratios): void {
  for (const figure of figures) {
    const rounds = ratios.get(figure.figure);
    if (!rounds || !wanted.has(figure.figure)) continue;
    const { figure: name, about, better, bar, stretch } = figure;
    const value = Number(median(rounds).toFixed(3));
    const ok = meets(figure, value, bar);
    missed ||= !ok;
    const bound = better === 'more' ? 'at least' : 'at most';
    const verdict = ok ? (meets(figure, value, stretch) ? 'meets the stretch' : 'meets the bar') : 'MISSES the bar';
    say(`${name} (${about}): ${value}, ${bound} ${bar}, stretch ${stretch}: ${verdict}`);
    say(`  rounds: ${rounds.map((ratio) => ratio.toFixed(3)).join(' ')}`);
    process.stdout.write(`${JSON.stringify({ figure: name, value, bar, stretch, ok })}\n`);
  }
}
