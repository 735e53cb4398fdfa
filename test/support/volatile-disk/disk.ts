import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PROGRAM = join(import.meta.dirname, 'disk.py');

/** The system's: its package of the library is not for any other Python that may come first on the PATH. */
const PYTHON = '/usr/bin/python3';

/** What a loss of power left of what was not synced. */
export interface Cut {
  /** The step at which it came, such as `fsync log.db-wal`. */
  readonly at: string;
  /** Changes of names, and how many survived. */
  readonly names: number;
  readonly namesKept: number;
  /** Pages, how many survived, and how many of those were torn. */
  readonly pages: number;
  readonly survived: number;
  readonly torn: number;
}

/** A cut at the step with this number among those that match the pattern. */
export interface Armed {
  readonly match: string;
  readonly steps: number;
  readonly seed: number;
}

type Message = Readonly<Record<string, unknown>>;

/** A mounted disk that loses, on a cut, what was not synced; `disk.py` describes what survives. */
export class VolatileDisk {
  /** Resolves at the cut. Rejects if the disk ends without one. */
  readonly cutOff: Promise<Cut>;
  private readonly child: ChildProcess;
  private readonly ended: Promise<string>;
  private readonly awaited: ((message: Message) => boolean)[] = [];

  /** Mounts what is in `backing` after the last unmount. Nothing in it, and it is an empty disk. */
  static async mount(backing: string, mountpoint: string): Promise<VolatileDisk> {
    mkdirSync(backing, { recursive: true });
    mkdirSync(mountpoint, { recursive: true });
    const disk = new VolatileDisk(spawn(PYTHON, [PROGRAM, backing, mountpoint], { stdio: ['pipe', 'pipe', 'pipe'] }));
    await disk.answer('mounted');
    return disk;
  }

  private constructor(child: ChildProcess) {
    this.child = child;
    let errors = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    this.ended = new Promise((resolve) =>
      child.once('close', (code) => resolve(code === 0 ? '' : errors || `${code}`)),
    );
    child.stdin?.on('error', () => undefined);
    let rest = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.take(JSON.parse(line));
    });
    this.cutOff = this.answer('cut') as Promise<Cut>;
    this.cutOff.catch(() => undefined);
  }

  /** Now, unless it was cut before. */
  cut(seed: number): Promise<Cut> {
    this.send({ do: 'cut', seed });
    return this.cutOff;
  }

  async arm(armed: Armed): Promise<void> {
    this.send({ do: 'arm', ...armed });
    await this.answer('armed');
  }

  /** Resolves when an fsync that matches, such as `fsync log.db`, has failed. Its pages are lost at the cut. */
  async failFsync(match: string): Promise<void> {
    this.send({ do: 'fail', match });
    await this.answer('failed');
  }

  /**
   * Resolves when an fsync that matches has begun. It takes until `resume`, and syncs nothing: a process that is killed
   * meanwhile has written what it has not synced.
   */
  async stallFsync(match: string): Promise<void> {
    this.send({ do: 'stall', match });
    await this.answer('stalled');
  }

  resume(): void {
    this.send({ do: 'resume' });
  }

  /** How many changes and fsyncs there were. */
  async steps(): Promise<number> {
    this.send({ do: 'steps' });
    return (await this.answer('steps')) as number;
  }

  /** Ends it. A disk that was not cut syncs everything first. */
  async unmount(): Promise<void> {
    this.send({ do: 'unmount' });
    const errors = await this.ended;
    if (errors) throw new Error(`the disk failed: ${errors}`);
  }

  private send(command: object): void {
    this.child.stdin?.write(`${JSON.stringify(command)}\n`);
  }

  private take(message: Message): void {
    const at = this.awaited.findIndex((takes) => takes(message));
    if (at >= 0) this.awaited.splice(at, 1);
  }

  private answer(name: string): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.awaited.push((message) => {
        if (name in message) resolve(message[name]);
        return name in message;
      });
      this.ended.then((errors) => reject(new Error(`the disk ended without "${name}": ${errors}`)));
    });
  }
}

/** Whether this machine can mount one. */
export function canMountVolatileDisk(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'control-fuse-'));
  const places = [join(folder, 'backing'), join(folder, 'disk')];
  for (const place of places) mkdirSync(place);
  const input = JSON.stringify({ do: 'unmount' });
  const { status } = spawnSync(PYTHON, [PROGRAM, ...places], { input, timeout: 20_000 });
  rmSync(folder, { recursive: true, force: true });
  return status === 0;
}

/** The same, said on standard error if it cannot. With `REQUIRE_FUSE=1` that is an error. */
export function hasVolatileDisk(): boolean {
  if (canMountVolatileDisk()) return true;
  const text = 'the tests of power loss need Linux, /dev/fuse, and the packages fuse3 and python3-pyfuse3';
  if (process.env.REQUIRE_FUSE === '1') throw new Error(text);
  process.stderr.write(`SKIPPED: ${text}; REQUIRE_FUSE=1 makes this a failure\n`);
  return false;
}
