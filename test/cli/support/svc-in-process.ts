import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { FAMILIES, type Family } from '../../../src/cli/commands/families.js';
import { run } from '../../../src/cli/runner.js';
import { Terminal } from '../../../src/cli/terminal.js';

interface Options {
  readonly families?: ReadonlyMap<string, Family>;
  readonly input?: string;
}

/** Runs the sources of `svc` in this process, which knows of kinds that the build does not. */
export async function svcInProcess(args: readonly string[], { families = FAMILIES, input = '' }: Options = {}) {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  streams.stdin.end(input);
  const terminal = new Terminal(streams as unknown as ConstructorParameters<typeof Terminal>[0], {});
  const signal = new AbortController().signal;
  const code = await run([...args], { terminal, signal, foreground: (work) => work(), version: '0.0.0', families });
  streams.stdout.end();
  streams.stderr.end();
  return { code, stdout: await text(streams.stdout), stderr: await text(streams.stderr) };
}
