import { existsSync, readFileSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { writePrivate } from '../platform/private-file.js';
import { parseCheckpoint } from '../tlog/checkpoint.js';

/** From this size on, most notes are taken out. */
const MOST_BYTES = 1024 * 1024;
const KEPT_NOTES = 2_000;

/** What was signed is noted here before anybody sees it, so that a start finds out when the log is shorter or another. */
export interface KeptNotes {
  /** The last note of the service log; undefined if there is none. */
  last(): Promise<string | undefined>;
  /** Durable when it resolves. */
  add(note: string): Promise<void>;
}

/** The notes in a file, `checkpoints.txt`, each followed by an empty line. A copy elsewhere is an anchor. */
export class NotesFile implements KeptNotes {
  private isRepaired = false;

  constructor(private readonly file: string) {}

  async last(): Promise<string | undefined> {
    return this.notes().at(-1);
  }

  async add(note: string): Promise<void> {
    if (!existsSync(this.file)) return writePrivate(this.file, `${note}\n`);
    if (!this.isRepaired || statSync(this.file).size > MOST_BYTES) this.rewrite();
    // A full disk takes a part of a note: it must be gone before another follows.
    this.isRepaired = false;
    const handle = await open(this.file, 'a');
    try {
      await handle.writeFile(`${note}\n`);
      await handle.datasync();
      this.isRepaired = true;
    } finally {
      await handle.close();
    }
  }

  /** A note that a crash or a full disk cut off was never shown. */
  private notes(): string[] {
    if (!existsSync(this.file)) return [];
    const parts = readFileSync(this.file, 'utf8').split('\n\n');
    const notes: string[] = [];
    for (let at = 0; at + 2 < parts.length; at += 2) notes.push(`${parts[at]}\n\n${parts[at + 1]}\n`);
    return notes.filter(isWhole);
  }

  /** Without what is left of a note that was cut off; of very many notes, only some. */
  private rewrite(): void {
    const notes = this.notes();
    const step = Math.ceil((2 * notes.length) / KEPT_NOTES);
    const kept = notes.filter((_, at) => at % step === 0 || at === notes.length - 1);
    const text = kept.map((note) => `${note}\n`).join('');
    if (text.length !== statSync(this.file).size) writePrivate(this.file, text);
    this.isRepaired = true;
  }
}

function isWhole(note: string): boolean {
  try {
    parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1));
    return true;
  } catch {
    return false;
  }
}
