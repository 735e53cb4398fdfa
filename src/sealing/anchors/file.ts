import { open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Anchor, AnchoredCheckpoint } from './anchor.js';

/** Appends to a file, an empty line after each note: on another volume, on write-once media, in a repository. */
export class FileAnchor implements Anchor {
  readonly name: string;

  constructor(private readonly path: string) {
    this.name = `file:${path}`;
  }

  async put({ note }: AnchoredCheckpoint): Promise<void> {
    const kept = await readFile(this.path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return undefined;
    });
    if (kept?.endsWith(`${note}\n`)) return;
    await using file = await open(this.path, 'a');
    // A part of a note that a crash left is not continued.
    const gap = kept === undefined || kept === '' || kept.endsWith('\n\n') ? '' : '\n\n';
    await file.appendFile(`${gap}${note}\n`);
    await file.sync();
    if (kept !== undefined) return;
    await using folder = await open(dirname(this.path));
    await folder.sync();
  }
}
