import { type FileHandle, rename, rm, writeFile } from 'node:fs/promises';
import { escapeLine } from '../../output/escape.js';
import { UsageError } from '../../output/failures.js';
import { giveName, openNew, openOwn, requireAbsent, writing } from '../../output/new-file.js';
import type { Terminal } from '../../terminal.js';

/** How often the progress is noted: a process that is killed loses no more than this. */
const NOTE_MS = 1_000;

/** Where an export goes, line by line. */
export interface ExportTarget {
  /** Events written, those of an earlier run included. */
  readonly count: number;
  /** Where an earlier run stopped. */
  readonly next: string | undefined;
  /** Takes the next events; `next` is where to go on after them. */
  write(lines: readonly string[], next: string | undefined): Promise<void>;
  /** The export is whole. */
  complete(): Promise<void>;
  /** The export failed: keeps what is needed to go on. */
  keep(): Promise<void>;
}

/** Standard output: the bytes as they are, but for a terminal. */
export function outputTarget(terminal: Terminal): ExportTarget {
  let count = 0;
  return {
    get count() {
      return count;
    },
    next: undefined,
    async write(lines) {
      await terminal.out(lines.map((line) => `${terminal.isTTY ? escapeLine(line) : line}\n`).join(''));
      count += lines.length;
    },
    complete: async () => {},
    keep: async () => {},
  };
}

/** Whether to continue an unfinished file, and whether to replace one that is there. */
interface Treatment {
  readonly resume: boolean;
  readonly force: boolean;
}

/** How far an export came: so many bytes of its unfinished file are good, and the rest follows from `next`. */
interface Place {
  request: string;
  next: string;
  bytes: number;
  count: number;
}

/**
 * A file that has its name only when it is complete. Until then it is `FILE.part`, and `FILE.part.place` says how far
 * it is good; a run that continues cuts off the rest.
 */
export class ExportFile implements ExportTarget {
  count: number;
  next: string | undefined;
  #bytes: number;
  #noted = performance.now();

  /**
   * Throws `UsageError` if the unfinished file is of another request, and, without `force`, `CliError` if the file or, without
   * `resume`, the unfinished one exists. Starts again if there is nothing to continue.
   */
  static async open(file: string, request: string, { resume, force }: Treatment): Promise<ExportFile> {
    return writing(file, async () => {
      if (!force) await requireAbsent(file, 'choose another name, or replace it with --force');
      const place = resume ? await readPlace(file) : undefined;
      if (place && place.request !== request) {
        throw new UsageError(`${file}.part is of an export with other options: repeat those, or leave out --resume`);
      }
      if (place) {
        const handle = await openOwn(`${file}.part`);
        if ((await handle.stat()).size >= place.bytes) {
          await handle.truncate(place.bytes);
          return new ExportFile(file, handle, request, force, place);
        }
        await handle.close();
      }
      if (!resume && !force)
        await requireAbsent(`${file}.part`, 'go on with that export (--resume), or begin anew with --force');
      for (const left of [placeFile(file), `${file}.part`]) await rm(left, { force: true });
      return new ExportFile(file, await openNew(`${file}.part`), request, force, undefined);
    });
  }

  private constructor(
    readonly file: string,
    readonly handle: FileHandle,
    readonly request: string,
    readonly replace: boolean,
    place: Place | undefined,
  ) {
    this.count = place?.count ?? 0;
    this.next = place?.next;
    this.#bytes = place?.bytes ?? 0;
  }

  write(lines: readonly string[], next: string | undefined): Promise<void> {
    return writing(this.file, async () => {
      const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
      for (let done = 0; done < bytes.length; ) {
        done += (await this.handle.write(bytes, done, bytes.length - done, this.#bytes + done)).bytesWritten;
      }
      this.#bytes += bytes.length;
      this.count += lines.length;
      this.next = next;
      if (performance.now() - this.#noted > NOTE_MS) await this.#note();
    });
  }

  complete(): Promise<void> {
    return writing(this.file, async () => {
      // A broken run may have written more than it noted.
      await this.handle.truncate(this.#bytes);
      await this.handle.sync();
      await this.handle.close();
      await giveName(`${this.file}.part`, this.file, this.replace);
      await rm(placeFile(this.file), { force: true });
    });
  }

  /** Never throws: what broke the export off is what the user has to hear. */
  async keep(): Promise<void> {
    await this.#note().catch(() => undefined);
    await this.handle.close().catch(() => undefined);
  }

  /** The bytes reach the disk before the place that counts them. */
  async #note(): Promise<void> {
    this.#noted = performance.now();
    const { request, next, count } = this;
    if (next === undefined) return;
    await this.handle.datasync();
    const place: Place = { request, next, bytes: this.#bytes, count };
    await rm(`${placeFile(this.file)}.new`, { force: true });
    await writeFile(`${placeFile(this.file)}.new`, JSON.stringify(place), { flag: 'wx', mode: 0o600 });
    await rename(`${placeFile(this.file)}.new`, placeFile(this.file));
  }
}

const placeFile = (file: string): string => `${file}.part.place`;

async function readPlace(file: string): Promise<Place | undefined> {
  try {
    return JSON.parse(await readOwn(placeFile(file))) as Place;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function readOwn(path: string): Promise<string> {
  const handle = await openOwn(path);
  try {
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}
