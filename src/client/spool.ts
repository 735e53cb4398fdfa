import { createHash } from 'node:crypto';
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { AppendFile } from './append-file.js';
import { SpoolError } from './errors.js';
import { lockFolder } from './folder-lock.js';

export interface SpoolOptions {
  /** A folder on a local disk, for one client of one process. It is made if it does not exist. */
  readonly folder: string;
  /** The most bytes on disk, those of refused events included; at least 4 MiB, default 1 GiB. */
  readonly maxBytes?: number;
}

/** Records that are on disk and not settled yet. */
export interface Batch {
  /** What the records are for. */
  readonly target: string;
  /** The text of each record, with a line feed. */
  readonly lines: readonly Buffer[];
  /** Lines that are no records: the disk altered them. */
  readonly damaged: readonly Buffer[];
  readonly bytes: number;
}

interface Waiting {
  readonly bytes: Buffer;
  resolve(): void;
  reject(error: unknown): void;
}

const MIB = 1024 * 1024;
const DEFAULT_MAX_BYTES = 1024 * MIB;
const SEGMENT_BYTES = 2 * MIB;
/** A read holds the longest record. */
const READ_BYTES = MIB;
const READ_RECORDS = 250;
/** What one fsync covers at most: more would keep the event loop for long when their callers go on. */
const GROUP_RECORDS = 250;
const LINE_FEED = 0x0a;
const REFUSED = 'refused.jsonl';
const SEGMENT = /^\d{12}\.spool$/;

/** `digest length text`: eight digits of the text's SHA-256, and how many bytes it has with its line feed. */
function framed(text: string): Buffer {
  const line = Buffer.from(`${text}\n`);
  return Buffer.concat([Buffer.from(`${digestOf(line)} ${line.length} `), line]);
}

/** The text of a line, with its line feed; undefined if the line is not what was written. */
function textOf(line: Buffer): Buffer | undefined {
  const at = line.indexOf(0x20, 9) + 1;
  const text = line.subarray(at);
  const isWhole = at > 0 && line.toString('latin1', 0, at) === `${digestOf(text)} ${text.length} `;
  return isWhole ? text : undefined;
}

const digestOf = (line: Uint8Array): string => createHash('sha256').update(line).digest('hex').slice(0, 8);

/**
 * Records in a folder, in order, until they are settled. Segment files begin with a line for their target; each further line is
 * a record. An append is durable when it resolves, with one fsync for all that came meanwhile. A settled segment is removed; after
 * a crash its records are read once more from the beginning, so whoever takes them must know those that it has had.
 */
export class Spool {
  readonly #maxBytes: number;
  readonly #queue: Waiting[] = [];
  /** Those to be read; the last is appended to if this process began it. */
  readonly #segments: { path: string; size: number }[] = [];
  #current: AppendFile | undefined;
  #refused: AppendFile | undefined;
  #number = 0;
  #writing: Promise<void> | undefined;
  #isSealed = false;
  #isStopped = false;
  #bytes = 0;
  /** Within the first segment. */
  #offset = 0;
  #target: string;
  /** Bytes of segments since the start. */
  #recorded = 0;
  #settled = 0;
  #flushes: { at: number; resolve(): void }[] = [];
  #wake = (): void => undefined;

  private constructor(
    readonly folder: string,
    readonly target: string,
    maxBytes: number,
    private readonly unlock: () => Promise<void>,
  ) {
    this.#maxBytes = maxBytes;
    this.#target = target;
  }

  /** Throws `SpoolError` if another process uses the folder. `target`: what its records are for. */
  static async open({ folder, maxBytes = DEFAULT_MAX_BYTES }: SpoolOptions, target: string): Promise<Spool> {
    if (!(maxBytes >= 4 * MIB))
      throw new SpoolError('invalid', `maxBytes of a spool is at least 4 MiB, not ${maxBytes}`);
    try {
      if (await mkdir(folder, { recursive: true, mode: 0o700 })) await syncFolder(dirname(resolve(folder)));
      const spool = new Spool(folder, target, maxBytes, await lockFolder(folder));
      spool.#bytes = await stat(join(folder, REFUSED)).then(
        ({ size }) => size,
        () => 0,
      );
      for (const name of (await readdir(folder)).filter((one) => SEGMENT.test(one)).sort()) {
        const path = join(folder, name);
        spool.#add({ path, size: (await stat(path)).size });
        spool.#number = Number.parseInt(name, 10);
      }
      return spool;
    } catch (error) {
      throw spoolError(folder, error);
    }
  }

  /** Resolves when the record is on disk. If it throws `SpoolError`, nothing of the record is there. */
  async append(text: string): Promise<void> {
    const bytes = framed(text);
    if (this.#isSealed) throw new SpoolError('closed', `the spool ${this.folder} is closed; nothing was recorded`);
    if (this.#bytes + bytes.length > this.#maxBytes) throw this.#full();
    this.#bytes += bytes.length;
    await new Promise<void>((resolve, reject) => {
      this.#queue.push({ bytes, resolve, reject });
      this.#writing ??= this.#write().finally(() => {
        this.#writing = undefined;
      });
    });
  }

  /** The next batch; undefined after `stop`. Waits for one. */
  async next(): Promise<Batch | undefined> {
    while (!this.#isStopped) {
      const [first] = this.#segments;
      if (first && this.#offset < first.size) return this.#read(first);
      if (first && first.path !== this.#current?.path) await this.#drop(first);
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return undefined;
  }

  /** A batch is read again until it is settled. */
  settle({ bytes }: Batch): void {
    this.#offset += bytes;
    this.#settled += bytes;
    this.#flushes = this.#flushes.filter(({ at, resolve }) => at > this.#settled || void resolve());
  }

  /** Resolves when everything that was recorded before is settled. */
  async settled(): Promise<void> {
    while (this.#writing) await this.#writing;
    if (this.#settled < this.#recorded)
      await new Promise<void>((resolve) => this.#flushes.push({ at: this.#recorded, resolve }));
  }

  /** Keeps lines of JSON that nobody takes, beside the segments. */
  async refuse(lines: readonly string[]): Promise<void> {
    this.#refused ??= await AppendFile.open(join(this.folder, REFUSED), 'a+');
    const { handle, size } = this.#refused;
    const { buffer: last } = await handle.read(Buffer.of(LINE_FEED), 0, 1, Math.max(0, size - 1));
    // A crash may have cut the last line.
    const start = last[0] === LINE_FEED ? '' : '\n';
    const bytes = Buffer.from(start + lines.map((line) => `${line}\n`).join(''));
    await this.#refused.append(bytes);
    this.#bytes += bytes.length;
  }

  /** From now on nothing is recorded. */
  seal(): void {
    this.#isSealed = true;
  }

  stop(): void {
    this.#isStopped = true;
    this.#wake();
  }

  /** After `seal` and `stop`. What is not settled is there when the folder is opened again. */
  async close(): Promise<void> {
    while (this.#writing) await this.#writing;
    await this.#current?.handle.close();
    await this.#refused?.handle.close();
    if (this.#settled === this.#recorded) for (const { path } of this.#segments) await rm(path, { force: true });
    await this.unlock();
  }

  #add(segment: { path: string; size: number }): void {
    this.#segments.push(segment);
    this.#bytes += segment.size;
    this.#recorded += segment.size;
  }

  async #write(): Promise<void> {
    while (this.#queue.length > 0) {
      const group = this.#queue.splice(0, GROUP_RECORDS);
      const bytes = Buffer.concat(group.map((one) => one.bytes));
      try {
        const segment = await this.#segment();
        await segment.append(bytes);
        this.#recorded += bytes.length;
        for (const { resolve } of group) resolve();
        this.#wake();
      } catch (error) {
        this.#bytes -= bytes.length;
        for (const { reject } of group) reject(spoolError(this.folder, error));
      }
    }
  }

  /** The segment to append to. */
  async #segment(): Promise<AppendFile> {
    if (this.#current && this.#current.size < SEGMENT_BYTES) return this.#current;
    this.#number += 1;
    const path = join(this.folder, `${String(this.#number).padStart(12, '0')}.spool`);
    const segment = await AppendFile.open(path, 'wx');
    try {
      await segment.append(framed(JSON.stringify({ target: this.target })));
      await syncFolder(this.folder);
    } catch (error) {
      await segment.handle.close();
      await rm(path, { force: true }).catch(() => undefined);
      throw error;
    }
    await this.#current?.handle.close();
    this.#current = segment;
    this.#add(segment);
    return segment;
  }

  async #read({ path, size }: { path: string; size: number }): Promise<Batch> {
    const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, size - this.#offset));
    const handle = await open(path, 'r');
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, this.#offset).finally(() => handle.close());
    const lines: Buffer[] = [];
    const damaged: Buffer[] = [];
    let at = 0;
    for (let end = buffer.indexOf(LINE_FEED); end >= 0 && end < bytesRead; end = buffer.indexOf(LINE_FEED, at)) {
      const line = buffer.subarray(at, end + 1);
      const text = textOf(line);
      const isFirst = this.#offset + at === 0;
      const target = isFirst ? targetOf(text) : undefined;
      if (isFirst) this.#target = target ?? this.target;
      if (!text) damaged.push(line);
      else if (target === undefined) lines.push(text);
      at = end + 1;
      if (lines.length >= READ_RECORDS) break;
    }
    if (at === 0 && buffer.length === READ_BYTES) damaged.push(buffer);
    // What else has no end was never acknowledged: a crash cut it.
    return { target: this.#target, lines, damaged, bytes: at || buffer.length };
  }

  async #drop({ path, size }: { path: string; size: number }): Promise<void> {
    await rm(path, { force: true });
    this.#segments.shift();
    this.#bytes -= size;
    this.#offset = 0;
  }

  #full(): SpoolError {
    const { length } = this.#segments;
    const why = `the spool ${this.folder} has ${this.#bytes} of ${this.#maxBytes} bytes, in ${length} segments and ${REFUSED}`;
    return new SpoolError('full', `${why}; nothing was recorded: bring the service back, or raise maxBytes`);
  }
}

/** Undefined for a record: a segment may have lost the line for its target. */
const targetOf = (text: Buffer | undefined): string | undefined =>
  text && (JSON.parse(text.toString()) as { target?: string }).target;

/** Makes the entry of a new file durable. Windows has no such call. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}

function spoolError(folder: string, error: unknown): unknown {
  if (error instanceof SpoolError) return error;
  const { code = '', message } = error as NodeJS.ErrnoException;
  const isFull = ['ENOSPC', 'EDQUOT'].includes(code);
  const what = isFull ? 'the disk is full' : message;
  return new SpoolError(isFull ? 'disk-full' : 'disk', `the spool ${folder}: ${what}; nothing was recorded`, {
    cause: error,
  });
}
