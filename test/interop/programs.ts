import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const GO = fileURLToPath(new URL('go', import.meta.url));
/** A run that takes longer has failed: `fsck` may wait for ever after its first finding. */
const RUN_MS = 20_000;

/** Programs of a Go module of `test/interop/go`, built into a new folder. */
export class Programs {
  readonly folder = mkdtempSync(join(tmpdir(), 'control-interop-'));

  constructor(module: string, ...packages: readonly string[]) {
    const options = { cwd: join(GO, module), encoding: 'utf8' } as const;
    const { status, stderr, error } = spawnSync('go', ['build', '-o', `${this.folder}/`, ...packages], options);
    if (error || status !== 0) throw new Error(`go build: ${error ?? stderr}`);
  }

  /** What the program printed, and its exit code; `null` if it did not end in time. */
  async run(program: string, input: string, ...args: readonly string[]): Promise<{ code: number | null; out: string }> {
    const child = spawn(join(this.folder, program), args, { timeout: RUN_MS, killSignal: 'SIGKILL' });
    // Some programs end without having read it.
    child.stdin.on('error', () => undefined).end(input);
    const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { code, out: out + err };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
