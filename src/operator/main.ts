#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { hasStore, newerNode, runNode } from './node.js';

/** A larger young generation: most of what a request makes is gone before it is collected. */
const OF_THE_SERVICE = '--max-semi-space-size=32';

// The operator's own Node may be older than the service needs. Only what every Node since 20 has is imported above.
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
const args = process.argv.slice(2);
const options = args[0] === 'start' && !process.execArgv.includes(OF_THE_SERVICE) ? [OF_THE_SERVICE] : [];

if (args[0] === '--version' || args[0] === 'version') {
  process.stdout.write(`${version}\n`);
} else if (options.length > 0 || !hasStore()) {
  const node = hasStore() ? process.execPath : newerNode();
  if (node === undefined) {
    process.stderr.write(
      `control-service: it needs Node 24 or newer, and this is ${process.version}; install a newer one, or install this package with its optional dependencies, which bring one along\n`,
    );
    process.exitCode = 1;
  } else {
    await runNode(node, [...options, fileURLToPath(import.meta.url), ...args]);
  }
} else {
  const { run } = await import('./commands.js');
  process.exitCode = await run(args, version);
}
