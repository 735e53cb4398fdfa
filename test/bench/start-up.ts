import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median, type Options, Rounds, say } from './figures.ts';
import { DIST, startService } from './server.ts';

const RUNS_A_ROUND = 5;

export const START_FIGURES = ['svc-version', 'start-to-ready'];

/** The start of the command line, and of the service on an empty folder, over the start of Node itself. */
export async function measureStarts({ rounds }: Options, wanted: ReadonlySet<string>): Promise<Rounds> {
  const ratios = new Rounds();
  for (let round = 1; round <= rounds; round += 1) {
    const times = { node: [] as number[], 'svc-version': [] as number[], 'start-to-ready': [] as number[] };
    for (let run = 0; run < RUNS_A_ROUND; run += 1) {
      times.node.push(timed(['-e', '0']));
      if (wanted.has('svc-version')) times['svc-version'].push(timed([join(DIST, 'cli/main.js'), '--version']));
      if (wanted.has('start-to-ready')) times['start-to-ready'].push(await untilReady());
    }
    const node = median(times.node);
    say(`round ${round}: node -e 0 ${node.toFixed(1)} ms`);
    for (const figure of ['svc-version', 'start-to-ready'] as const) {
      if (!wanted.has(figure)) continue;
      say(`round ${round}: ${figure} ${median(times[figure]).toFixed(1)} ms`);
      ratios.add([[figure, median(times[figure]) / node]]);
    }
  }
  return ratios;
}

function timed(args: readonly string[]): number {
  const start = performance.now();
  const { status, stderr }: SpawnSyncReturns<string> = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
  return performance.now() - start;
}

/** The service says that it listens when it has caught up with its log. */
async function untilReady(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'control-bench-'));
  const start = performance.now();
  const service = await startService(folder);
  const ms = performance.now() - start;
  await service.stop();
  rmSync(folder, { recursive: true });
  return ms;
}
