/**
 * Measures the service against the bars that it has set itself: one JSON line a figure on standard output, the rounds
 * on standard error. Exit code 1 when a bar is missed. `docs/performance.md` explains the figures.
 *
 *     node test/bench/run.ts [--cluster] [--only NAME] [--rounds 7] [--seconds 5] [--events 1000000]
 *
 * With `--cluster` the figures are those on Kafka and Elasticsearch, and no others.
 */
import { parseArgs } from 'node:util';
import { BYTE_FIGURES, measureBytes } from './bytes.ts';
import { CLIENT_FIGURES, measureClient } from './client.ts';
import { CLUSTER_FIGURES, FIGURES, type Figure, median, meets, type Options, type Rounds, say } from './figures.ts';
import { LIST_FIGURES, measureList } from './list.ts';
import { measurePublish, PUBLISH_FIGURES } from './publish.ts';
import { measureSealing, SEALING_FIGURES } from './sealing.ts';
import { measureStarts, START_FIGURES } from './start-up.ts';
import { measureTrust, TRUST_FIGURES } from './trust.ts';
import { measureVerify, VERIFY_FIGURES } from './verify.ts';

const { values } = parseArgs({
  options: {
    cluster: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '5' },
    events: { type: 'string', default: '1000000' },
  },
});
const options: Options = {
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  events: Number(values.events),
};
const figures = values.cluster ? CLUSTER_FIGURES : FIGURES;
const wanted = new Set(values.only ?? figures.map(({ figure }) => figure));
for (const name of wanted) {
  if (figures.some(({ figure }) => figure === name)) continue;
  throw new Error(`there is no figure ${name}; there are ${figures.map(({ figure }) => figure).join(', ')}`);
}

const isWanted = (names: readonly string[]) => names.some((name) => wanted.has(name));

let missed = false;
if (values.cluster) {
  // Only here: it takes what the other figures do without.
  const { measureCluster } = await import('./cluster.ts');
  await measureCluster(options, wanted, report);
} else {
  if (isWanted(START_FIGURES)) report(await measureStarts(options, wanted), START_FIGURES);
  if (isWanted(BYTE_FIGURES)) report(await measureBytes(), BYTE_FIGURES);
  if (isWanted(PUBLISH_FIGURES)) report(await measurePublish(options, wanted), PUBLISH_FIGURES);
  if (isWanted(CLIENT_FIGURES)) report(await measureClient(options), CLIENT_FIGURES);
  if (isWanted(VERIFY_FIGURES)) report(await measureVerify(options), VERIFY_FIGURES);
  if (isWanted(SEALING_FIGURES)) report(await measureSealing(options), SEALING_FIGURES);
  if (isWanted(TRUST_FIGURES)) report(await measureTrust(options, wanted), TRUST_FIGURES);
  if (isWanted(LIST_FIGURES)) report(await measureList(options, wanted), LIST_FIGURES);
}
process.exitCode = missed ? 1 : 0;

/** Tells the wanted ones among the figures that were measured. */
function report(rounds: Rounds, measured: readonly string[]): void {
  for (const figure of figures) {
    if (!measured.includes(figure.figure) || !wanted.has(figure.figure)) continue;
    const ratios = rounds.of(figure.figure);
    if (ratios.length === 0) skipped(figure);
    else told(figure, ratios);
  }
}

function skipped({ figure, about }: Figure): void {
  say(`${figure} (${about}): SKIPPED`);
  process.stdout.write(`${JSON.stringify({ figure, skipped: true })}\n`);
}

function told(figure: Figure, ratios: readonly number[]): void {
  const { figure: name, about, better, bar, stretch } = figure;
  const value = Number(median(ratios).toFixed(3));
  const ok = meets(figure, value, bar);
  missed ||= !ok;
  const bound = better === 'more' ? 'at least' : 'at most';
  const verdict = ok ? (meets(figure, value, stretch) ? 'meets the stretch' : 'meets the bar') : 'MISSES the bar';
  say(`${name} (${about}): ${value}, ${bound} ${bar}, stretch ${stretch}: ${verdict}`);
  say(`  rounds: ${ratios.map((ratio) => ratio.toFixed(3)).join(' ')}`);
  process.stdout.write(`${JSON.stringify({ figure: name, value, bar, stretch, ok })}\n`);
}
