import { createHash, hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { type FileHandle, open, readFile, rename, rm } from 'node:fs/promises';
import { endianness } from 'node:os';
import { dirname, extname, join } from 'node:path';
import type { Logger } from 'pino';
import type { EventLog } from '../event-log/event-log.js';
import { recordAt } from '../event-log/read-range.js';
import { syncFolder } from '../platform/sqlite.js';
import { pause, turnOfTheLoop } from '../platform/waiting.js';
import { type TableImage, WORDS } from './digest-table.js';
import type { ControlFold } from './fold.js';
import { type FoldImage, type FoldSnapshots, imageOf, restoreFold } from './fold-image.js';
import type { CommandsImage } from './known-commands.js';
import type { ControlState } from './state.js';

const FORMAT = 2;

/** How many records are folded again at most after a crash, and after a regular stop. */
const RECORDS_BETWEEN = 50_000;
const RECORDS_AT_STOP = 5_000;
const LOOK_MS = 10_000;

/** How long a stop may wait for the last one, which is given up then. */
const STOP_MS = 2_000;

/** How much is written at a time; between, everything else gets a turn. */
const CHUNK = 256 * 1024;

/** Rows of a table in a line. */
const ROWS = 4_096;

/** How long reading the last record may take. */
const RECORD_MS = 5_000;

/** The first line of the file. Anything else in it than expected, and the file is not used. */
interface Header {
  readonly format: number;
  /** Of the program that folded: another may fold the same records to another state. */
  readonly program: string;
  readonly log: string;
  /** The next record to fold, and the digest of the one before: a log that was restored may have another there. */
  readonly next: number;
  readonly last: string;
  /** How many lines there are of them. */
  readonly streams: number;
  readonly letters: number;
  readonly commands: Omit<CommandsImage, 'table'>;
}

/**
 * The fold of `control` in a file beside the log, so that a start does not fold all of it again. The file can be deleted at
 * any time. It is whole or not used: its last line is the SHA-256 of all before.
 *
 *     header, JSON
 *     ["stream", version, state]           a line for each stream that has a state
 *     {"email", "org", "time"}             a line for each letter of the last day
 *     ["deleted", "digests", "numbers"]    lines of rows of the table, in base64
 *     ["commands", "digests", "numbers"]   the same
 *     SHA-256, hexadecimal
 */
export class ControlSnapshots implements FoldSnapshots {
  private saved = 0;
  private deadline = Number.POSITIVE_INFINITY;

  constructor(
    private readonly file: string,
    private readonly log: EventLog,
    private readonly logger: Logger,
  ) {}

  async load(fold: ControlFold, most = Number.POSITIVE_INFINITY): Promise<number> {
    try {
      const lines = checkedLines(await readFile(this.file));
      const header = JSON.parse(lines.shift() ?? '') as Header;
      if (header.next > most) return 0;
      await this.check(header);
      restoreFold(fold, imageIn(header, lines));
      this.saved = Math.max(this.saved, header.next);
      return header.next;
    } catch (error) {
      const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT';
      if (!isAbsent) this.logger.warn({ file: this.file, reason: (error as Error).message }, 'snapshot is not used');
      return 0;
    }
  }

  /** Throws where the file belongs to another log, another history of it, or another program. */
  private async check({ format, program, log, next, last }: Header): Promise<void> {
    if (format !== FORMAT || program !== programDigest()) throw new Error('another version made it');
    if (log !== this.log.id) throw new Error('it belongs to another log');
    const end = (await this.log.head('control'))[0] ?? 0;
    if (next > end || last !== (await this.digestBefore(next))) throw new Error('the log has another history');
  }

  /** Writes snapshots now and then until the signal aborts, and one at the end. Never rejects. */
  async keep(state: ControlState, signal: AbortSignal): Promise<void> {
    const end = () => {
      this.deadline = performance.now() + STOP_MS;
    };
    signal.addEventListener('abort', end, { once: true });
    await state.startReached;
    for (;;) {
      await pause(LOOK_MS, signal, { ref: false });
      const last = signal.aborted;
      await this.saveAfter(last ? RECORDS_AT_STOP : RECORDS_BETWEEN, state);
      if (last) return;
    }
  }

  private async saveAfter(records: number, state: ControlState): Promise<void> {
    const next = (state.last.position?.offset ?? -1) + 1;
    if (next - this.saved < records) return;
    try {
      const image = imageOf(state.fold);
      const { streams, letters, commands } = image;
      // A record that cannot be folded ends the process, and leaves a fold between two places.
      if (commands.offset + 1 !== next) return;
      const header: Header = {
        ...{ format: FORMAT, program: programDigest(), log: this.log.id },
        ...{ next, last: await this.digestBefore(next) },
        ...{ streams: streams.length, letters: letters.length },
        commands: { offset: commands.offset, clock: commands.clock },
      };
      await this.write(linesOf(header, image));
      this.saved = next;
    } catch (error) {
      this.logger.warn({ err: error, file: this.file }, 'no snapshot was written; the next start takes longer');
      await rm(`${this.file}.new`, { force: true }).catch(() => undefined);
    }
  }

  private async write(lines: Iterable<string>): Promise<void> {
    const unfinished = `${this.file}.new`;
    await rm(unfinished, { force: true });
    const handle = await open(unfinished, 'wx', 0o600);
    try {
      await writeChecked(handle, this.inTime(lines));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(unfinished, this.file);
    syncFolder(dirname(this.file));
  }

  private *inTime(lines: Iterable<string>): Generator<string> {
    for (const line of lines) {
      if (performance.now() > this.deadline) throw new Error('the process stops before the snapshot is written');
      yield line;
    }
  }

  private async digestBefore(next: number): Promise<string> {
    const place = { partition: 0, offset: next - 1 };
    const { key, time, value } = await recordAt(this.log, 'control', place, AbortSignal.timeout(RECORD_MS));
    return createHash('sha256').update(`${key} ${time} `).update(value).digest('hex');
  }
}

async function writeChecked(handle: FileHandle, lines: Iterable<string>): Promise<void> {
  const digest = createHash('sha256');
  let waiting: string[] = [];
  let length = 0;
  const flush = async () => {
    const bytes = Buffer.from(waiting.join(''));
    digest.update(bytes);
    await handle.writeFile(bytes);
    [waiting, length] = [[], 0];
    await turnOfTheLoop();
  };
  for (const line of lines) {
    waiting.push(line, '\n');
    length += line.length;
    if (length > CHUNK) await flush();
  }
  await flush();
  await handle.writeFile(digest.digest('hex'));
}

function* linesOf(header: Header, { streams, letters, deleted, commands }: FoldImage): Generator<string> {
  yield JSON.stringify(header);
  for (const stream of streams) yield JSON.stringify(stream);
  for (const letter of letters) yield JSON.stringify(letter);
  yield* tableLines('deleted', deleted);
  yield* tableLines('commands', commands.table);
}

type TableLine = readonly [table: 'deleted' | 'commands', digests: string, numbers: string];

function* tableLines(name: TableLine[0], { digests, numbers }: TableImage): Generator<string> {
  const rows = digests.length / WORDS;
  const width = numbers.length / rows;
  const text = (part: Uint32Array | Float64Array) =>
    Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString('base64');
  for (let from = 0; from < rows; from += ROWS) {
    const to = Math.min(rows, from + ROWS);
    const line: TableLine = [
      name,
      text(digests.subarray(from * WORDS, to * WORDS)),
      text(numbers.subarray(from * width, to * width)),
    ];
    yield JSON.stringify(line);
  }
}

/** Throws when the last line is not the digest of the others. */
function checkedLines(bytes: Buffer): string[] {
  const end = bytes.lastIndexOf('\n') + 1;
  if (hash('sha256', bytes.subarray(0, end)) !== bytes.toString('latin1', end)) throw new Error('it is damaged');
  const lines: string[] = [];
  for (let from = 0; from < end; ) {
    const to = bytes.indexOf('\n', from);
    lines.push(bytes.toString('utf8', from, to));
    from = to + 1;
  }
  return lines;
}

/** The lines after the header. */
function imageIn({ streams, letters, commands }: Header, lines: readonly string[]): FoldImage {
  const tables = lines.slice(streams + letters).map((line) => JSON.parse(line) as TableLine);
  return {
    streams: lines.slice(0, streams).map((line) => JSON.parse(line)),
    letters: lines.slice(streams, streams + letters).map((line) => JSON.parse(line)),
    deleted: tableOf('deleted', tables),
    commands: { ...commands, table: tableOf('commands', tables) },
  };
}

function tableOf(name: TableLine[0], lines: readonly TableLine[]): TableImage {
  const mine = lines.filter(([table]) => table === name);
  const bytes = (texts: readonly string[]) =>
    Uint8Array.from(Buffer.concat(texts.map((text) => Buffer.from(text, 'base64')))).buffer;
  return {
    digests: new Uint32Array(bytes(mine.map(([, digests]) => digests))),
    numbers: new Float64Array(bytes(mine.map(([, , numbers]) => numbers))),
  };
}

let program: string | undefined;

/** Of everything that has a part in the fold: a changed rule makes another program, whatever its version says. */
function programDigest(): string {
  if (program !== undefined) return program;
  const root = join(import.meta.dirname, '..');
  const digest = createHash('sha256').update(endianness());
  for (const folder of ['contract', 'model', 'control']) {
    const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
    for (const file of files.filter((name) => /\.[jt]s$/.test(name)).sort())
      digest.update(readFileSync(join(root, folder, file)));
  }
  digest.update(readFileSync(join(root, 'platform', `ids${extname(import.meta.filename)}`)));
  program = digest.digest('hex');
  return program;
}
