/**
 * Runs the tests with Jest, and says first what this run leaves out and why.
 *
 *     npm test                 the quick suites, on the embedded store
 *     npm test -- test/http    what is named, on every store that it has, at its usual scale
 *     npm run test:all         everything; `-- suites` or `-- faults` for one half
 */
import { spawnSync } from 'node:child_process';
import { missing } from './support/prerequisites.ts';
import { SCALES, SLOW, type Tier, tierOf } from './support/tiers.ts';

const [first, ...rest] = process.argv.slice(2);
const given = first === '--all' ? rest : process.argv.slice(2);
const half = ['suites', 'faults'].find((name) => name === given[0]);
const args = half === undefined ? given : given.slice(1);
const { env } = process;

function announce(tier: Tier): void {
  const lines = missing(tier === 'quick');
  if (tier === 'quick') {
    lines.unshift(
      'quick run: the suites on the embedded store that take seconds',
      `left to \`npm run test:all\`: Kafka and Elasticsearch, kill -9, loss of power, and ${SLOW.length} slow suites, which run by name too`,
    );
  }
  if (lines.length > 0) process.stderr.write(`\n${lines.map((line) => `  ${line}\n`).join('')}\n`);
}

function jest(tier: Tier, ...options: string[]): number {
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];
  const settings = { ...SCALES[tier], ...env, TEST_TIER: tier };
  const { status } = spawnSync(process.execPath, [...flags, ...options, ...args], { stdio: 'inherit', env: settings });
  return status ?? 1;
}

const tier = first === '--all' ? 'all' : tierOf(args, env);
announce(tier);
const suites = half === 'faults' ? 0 : jest(tier);
const faults = tier === 'all' && half !== 'suites' ? jest(tier, '--config', 'test/faults/jest.config.js') : 0;
process.exitCode = suites || faults;
