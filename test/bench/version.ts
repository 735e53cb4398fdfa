import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { median, type Options, type Ratios, say } from './figures.ts';
import { DIST } from './server.ts';

const RUNS_A_ROUND = 5;

/** The start of the command line over the start of Node itself. */
export function measureVersion({ rounds }: Options): Ratios {
  const ratios: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const [node, svc] = [[] as number[], [] as number[]];
    for (let run = 0; run < RUNS_A_ROUND; run += 1) {
      node.push(timed(['-e', '0']));
      svc.push(timed([join(DIST, 'cli/main.js'), '--version']));
    }
    say(`round ${round}: node -e 0 ${median(node).toFixed(1)} ms, svc --version ${median(svc).toFixed(1)} ms`);
    ratios.push(median(svc) / median(node));
  }
  return new Map([['svc-version', ratios]]);
}

function timed(args: readonly string[]): number {
  const start = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
  return performance.now() - start;
}
