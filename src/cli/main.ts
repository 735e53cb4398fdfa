#!/usr/bin/env node
import { readFileSync } from 'node:fs';

const version = (): string => {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
};

// The version needs no command parser: answering it here keeps `svc --version` as fast as Node itself starts.
if (process.argv.length === 3 && process.argv[2] === '--version') {
  process.stdout.write(`${version()}\n`);
} else if (process.argv[2] === '__complete') {
  const { answerShell } = await import('./completion/main.js');
  await answerShell(process.argv.slice(3));
} else {
  const { runProcess } = await import('./runner.js');
  await runProcess(version());
}
