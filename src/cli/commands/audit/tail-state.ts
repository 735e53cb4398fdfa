import { fdatasyncSync, fstatSync } from 'node:fs';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CliError, UsageError } from '../../output/failures.js';
import { fileFault } from '../../output/file-fault.js';
import { openNew, writing } from '../../output/new-file.js';

interface Noted {
  readonly version: 1;
  readonly request: string;
  readonly position: string;
}

const STDOUT = 1;
/** On the service: the key travels along. */
const PATH = /^\/(?!\/)[\x21-\x7e]*$/;

/**
 * The place of a tail in a file: behind the last page that left. A new place is written beside the file, synced, and takes its
 * name, so a crash at any moment leaves the place before or the new one. What was shown is on disk first, if it goes to a file.
 */
export class TailState {
  #position: string | undefined;

  constructor(
    private readonly file: string,
    private readonly request: string,
  ) {}

  /** Where to go on; undefined if there is no file. Throws for a place of another tail, and for what is no place. */
  async read(): Promise<string | undefined> {
    let text: string;
    try {
      text = await readFile(this.file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw new CliError(`cannot read ${this.file}: ${fileFault(error)}`);
    }
    const noted = parsed(text);
    if (!noted) throw new CliError(`${this.file} is not the place of a tail; remove it to begin anew`);
    if (noted.request !== this.request) {
      throw new UsageError(`${this.file} is the place of a tail with other filters, or of another service`, [
        'repeat those filters, or name another file',
      ]);
    }
    this.#position = noted.position;
    return noted.position;
  }

  /** Resolves when the place is on disk. */
  async note(position: string): Promise<void> {
    if (position === this.#position) return;
    await writing(this.file, async () => {
      syncOutput();
      const unfinished = `${this.file}.new`;
      await rm(unfinished, { force: true });
      const handle = await openNew(unfinished);
      try {
        await handle.writeFile(`${JSON.stringify({ version: 1, request: this.request, position } satisfies Noted)}\n`);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(unfinished, this.file);
      const folder = await open(dirname(this.file));
      await folder.sync().finally(() => folder.close());
    });
    this.#position = position;
  }
}

function syncOutput(): void {
  if (fstatSync(STDOUT).isFile()) fdatasyncSync(STDOUT);
}

function parsed(text: string): Noted | undefined {
  try {
    const value = JSON.parse(text) as Partial<Noted> | null;
    if (value?.version !== 1 || typeof value.request !== 'string' || typeof value.position !== 'string')
      return undefined;
    return PATH.test(value.position) ? (value as Noted) : undefined;
  } catch {
    return undefined;
  }
}
