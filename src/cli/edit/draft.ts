import { isUtf8 } from 'node:buffer';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LIMITS } from '../../contract/limits.js';
import { escapeLine } from '../output/escape.js';
import { CliError } from '../output/failures.js';

/** Twice what the service takes as a body: comments do not count. */
const LONGEST = 2 * LIMITS.bodyBytes;

/** A text that is edited, in a file of mode 0600 in a folder of its own that nobody else may look into. */
export class Draft {
  readonly path: string;
  readonly #folder: string;
  #written = '';
  #edited = false;

  private constructor(folder: string, name: string) {
    this.#folder = folder;
    this.path = join(folder, name);
  }

  static async create(name: string): Promise<Draft> {
    return new Draft(await mkdtemp(join(tmpdir(), 'svc-edit-')), name);
  }

  async write(text: string): Promise<void> {
    await writeFile(this.path, text, { mode: 0o600 });
    this.#written = text;
  }

  /** The text as the editor left it. Throws for a file that is gone, is too large (it is not read), or is not UTF-8. */
  async read(): Promise<string> {
    const found = await stat(this.path).catch(() => undefined);
    if (!found?.isFile()) throw new CliError(`the editor left no file ${this.path}`);
    this.#edited ||= found.size !== Buffer.byteLength(this.#written);
    if (found.size > LONGEST) throw new CliError(`the text is larger than ${LONGEST / 1024} KiB`);
    const bytes = await readFile(this.path);
    this.#edited ||= !bytes.equals(Buffer.from(this.#written));
    if (!isUtf8(bytes)) throw new CliError('the text is not UTF-8');
    return bytes.toString();
  }

  /** Whether there is anything in it that the user wrote, now or before. */
  async isEdited(): Promise<boolean> {
    // What cannot be read is judged by what was read before.
    if (!this.#edited) await this.read().catch(() => {});
    return this.#edited;
  }

  /** Removes it, and what the editor left beside it. */
  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Lines for the user, on top of a text that is edited. They are comments of YAML, and are taken off again. */
export class Remarks {
  readonly #lines: readonly string[];

  constructor(lines: readonly string[]) {
    this.#lines = lines.map((line) => `# ${escapeLine(line)}`);
  }

  above(text: string): string {
    return `${this.#lines.join('\n')}\n${text}`;
  }

  /** The text without these lines, wherever they are by now. */
  off(text: string): string {
    const mine = new Set(this.#lines);
    return text
      .split('\n')
      .filter((line) => !mine.has(line.trimEnd()))
      .join('\n');
  }
}

/** Whether the text says nothing: comments are nothing. */
export const isBlank = (text: string): boolean => text.split('\n').every((line) => /^\s*(?:#|$)/.test(line));
