#!/usr/bin/env node
import { readFileSync } from 'node:fs';

const version = (): string => {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
};

// The version needs no command parser: answering it here keeps `svc --version` as fast as Node itself starts.
if (process.argv.length === 3 && process.argv[2] === '--version') {
  process.stdout.write(`${version()}\n`);
} else {
  const { runProcess } = await import('./runner.js');
  await runProcess(version());
}
