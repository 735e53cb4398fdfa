import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Rounds, say } from './figures.ts';
import { Generator } from './generator.ts';
import { EVENT_BYTES, run, syncPublish } from './loads.ts';
import { writtenBytes } from './processes.ts';
import { createOrg, startService } from './server.ts';

/** Enough for several checkpoints of each file. */
const EVENTS = 150_000;
const BLOCK = 512;

export const BYTE_FIGURES = ['bytes-written', 'bytes-on-disk'];

/**
 * What the service writes for single events at 64 connections, from its start on an empty folder to its clean end, and
 * what its folder takes then. One load: these figures hardly depend on the machine, but they do on its length.
 */
export async function measureBytes(): Promise<Rounds> {
  const folder = mkdtempSync(join(tmpdir(), 'control-bench-'));
  const generator = new Generator();
  try {
    const before = writtenBytes();
    const service = await startService(folder);
    const load = syncPublish(service, await createOrg(service.url, 'bench'));
    const { answered } = await run(generator, load, 600, EVENTS).finally(() => service.stop());
    // The generator writes no file, and this process has not waited for its end yet.
    const written = ((writtenBytes() ?? Number.NaN) - (before ?? 0)) / answered;
    const onDisk = sizeOf(folder) / answered;
    say(
      `an event of ${EVENT_BYTES.toFixed(0)} bytes: ${written.toFixed(0)} bytes written, ${onDisk.toFixed(0)} on disk`,
    );
    for (const { name, size } of sizesOf(folder)) {
      if (size >= answered) say(`  ${name}: ${(size / answered).toFixed(0)} bytes on disk`);
    }
    const rounds = new Rounds();
    rounds.add([
      ['bytes-written', written / EVENT_BYTES],
      ['bytes-on-disk', onDisk / EVENT_BYTES],
    ]);
    return rounds;
  } finally {
    generator.close();
    rmSync(folder, { recursive: true });
  }
}

/** What all files take on the disk, as `du` counts it. */
export function sizeOf(folder: string): number {
  return sizesOf(folder).reduce((sum, { size }) => sum + size, 0);
}

function sizesOf(folder: string): { readonly name: string; readonly size: number }[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => ({ name, size: statSync(join(parentPath, name)).blocks * BLOCK }));
}
