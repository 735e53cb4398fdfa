import { type FileHandle, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import type { ApiClient } from '../../client/api-client.js';
import { type Query } from '../../client/pages.js';
import { giveName, openNew, requireAbsent, writing } from '../output/new-file.js';
import { proofFile } from './files.js';
import { provenExport, separated } from './proven-export.js';

interface Asked {
  readonly org: string;
  readonly filters: Query;
  readonly file: string;
  /** Whether existing files are replaced. */
  readonly force: boolean;
  readonly progress: (count: number) => void;
}

/**
 * Writes the events to the file and their proof to `FILE.proof`. Both get their names only when they are whole; existing files
 * are replaced only with `force`. Resolves with the number of events.
 */
export async function exportProven(client: ApiClient, { org, filters, file, force, progress }: Asked): Promise<number> {
  const names = [file, proofFile(file)];
  await writing(file, async () => {
    for (const name of names) {
      if (force) await rm(`${name}.part`, { force: true });
      else await requireAbsent(name, 'choose another name, or replace it with --force');
      await requireAbsent(`${name}.part`, 'choose another name, or begin anew with --force');
    }
  });
  const files: FileHandle[] = [];
  try {
    await writing(file, async () => {
      for (const name of names) files.push(await openNew(`${name}.part`));
    });
    const take = (answer: IncomingMessage) => receive(answer, file, files, progress);
    const count = await client.download(provenExport(org, filters), take);
    await writing(file, async () => {
      for (const one of files) await one.sync();
      // The proof first: an export that has its name has its proof.
      for (const name of names.toReversed()) await giveName(`${name}.part`, name, force);
    });
    return count;
  } finally {
    for (const one of files) await one.close();
    for (const name of names.slice(0, files.length)) await rm(`${name}.part`, { force: true });
  }
}

async function receive(
  answer: AsyncIterable<Buffer>,
  file: string,
  [events, proof]: readonly FileHandle[],
  progress: (count: number) => void,
): Promise<number> {
  let exported = 0;
  for await (const part of separated(answer)) {
    await writing(file, () => Promise.all([events?.writeFile(part.events), proof?.writeFile(part.proof)]));
    exported = part.count;
    progress(exported);
  }
  return exported;
}
