import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseCheckpoint } from '../../tlog/checkpoint.js';
import { splitNote } from '../../tlog/note.js';
import { locked } from '../file-lock.js';
import { CliError } from '../output/failures.js';
import { fileFault } from '../output/file-fault.js';

/** What `svc` remembers of an organization's log: who signs it, which one it is, and the newest checkpoint that was proven. */
export interface Pin {
  origin: string;
  vkey: string;
  /** Of the organization in the directory of the service, once a head proof showed it. */
  number?: number;
  /** Signed checkpoint. */
  note: string;
  /** Earlier notes, oldest first: an older export is compared with the newest that it reaches. */
  former?: readonly string[];
  /** The log's address when the pin was made, so that another origin there is noticed; absent for a file's. */
  address?: string;
}

const MOST_FORMER = 100;

/** What a pin knew before a note took the place of its own. Of too many, the first and the newest are kept. */
export function formerOf(pin: Pin | undefined, note: string): Pick<Pin, 'former'> {
  if (!pin) return {};
  const { former = [] } = pin;
  const isLater = sizeOf(pin.note) < sizeOf(note);
  const all = isLater ? [...former, pin.note] : former;
  return { former: all.length > MOST_FORMER ? [...all.slice(0, 1), ...all.slice(1 - MOST_FORMER)] : all };
}

/** The newest note of a pin with at most so many leaves. */
export function comparable({ note, former = [] }: Pin, size: number): string | undefined {
  return [...former, note].findLast((one) => sizeOf(one) <= size);
}

/** Of a note that is known to be a checkpoint. */
export function sizeOf(note: string): number {
  return parseCheckpoint(splitNote(note).text).size;
}

/** The folder of the pins: `SVC_STATE_DIR/tlog`, else `$XDG_STATE_HOME/svc/tlog`, else `~/.local/state/svc/tlog`. */
export function pinFolder(env: NodeJS.ProcessEnv): string {
  const state = env.SVC_STATE_DIR || join(env.XDG_STATE_HOME || join(homedir(), '.local', 'state'), 'svc');
  return join(state, 'tlog');
}

/** A file an origin. A write replaces the whole file: a crash leaves the old pin or the new one. */
export class Pins {
  constructor(private readonly folder: string) {}

  fileOf(origin: string): string {
    return join(this.folder, `${encodeURIComponent(origin)}.json`);
  }

  async ofOrigin(origin: string): Promise<Pin | undefined> {
    return this.#read(this.fileOf(origin));
  }

  async ofAddress(address: string): Promise<Pin | undefined> {
    const names = await readdir(this.folder).catch(() => []);
    for (const name of names.filter((one) => one.endsWith('.json'))) {
      const pin = await this.#read(join(this.folder, name));
      if (pin?.address === address) return pin;
    }
    return undefined;
  }

  /**
   * Puts the pin in the place of `known`, which was demanded of what is pinned. Returns false, and changes nothing, if another
   * process has pinned something else meanwhile: then that must be demanded, too.
   */
  async replace(known: Pin | undefined, pin: Pin): Promise<boolean> {
    const file = this.fileOf(pin.origin);
    await mkdir(this.folder, { recursive: true, mode: 0o700 }).catch((error) => {
      throw new CliError(`cannot write the pin ${file}: ${fileFault(error)}`);
    });
    return locked(file, `the pin ${file}`, async () => {
      if ((await this.#read(file))?.note !== known?.note) return false;
      await this.#write(pin);
      return true;
    });
  }

  async #write(pin: Pin): Promise<void> {
    const file = this.fileOf(pin.origin);
    const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`;
    try {
      const handle = await open(temporary, 'wx', 0o600);
      try {
        await handle.writeFile(`${JSON.stringify(pin, null, 2)}\n`);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(temporary, file);
    } catch (error) {
      await rm(temporary, { force: true });
      throw new CliError(`cannot write the pin ${file}: ${fileFault(error)}`);
    }
  }

  async #read(file: string): Promise<Pin | undefined> {
    let text: string;
    try {
      text = await readFile(file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw new CliError(`cannot read the pin ${file}: ${fileFault(error)}`);
    }
    const pin = parsePin(text);
    if (pin) return pin;
    throw new CliError(`the pin ${file} is damaged`, undefined, ['restore it from a copy: a new pin would trust anew']);
  }
}

const MOST_TRIES = 20;

/** Does the work again for as long as it returns undefined, because another process changed the pin. */
export async function untilPinned<Result>(work: () => Promise<Result | undefined>): Promise<Result> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const result = await work();
    if (result !== undefined) return result;
  }
  throw new CliError('other svc processes keep changing the pin of this log; try again');
}

function parsePin(text: string): Pin | undefined {
  try {
    const pin = JSON.parse(text) as Partial<Pin>;
    const isWhole = [pin.origin, pin.vkey, pin.note].every((one) => typeof one === 'string');
    const { number = 0, note = '', former = [] } = pin;
    for (const one of [...former, note]) sizeOf(one);
    return isWhole && Number.isSafeInteger(number) ? (pin as Pin) : undefined;
  } catch {
    return undefined;
  }
}
