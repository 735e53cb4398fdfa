import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { NoteSigner, vkeyOf } from '../../src/tlog/note.js';

const SOURCE = new URL('../interop/go/witness', import.meta.url).pathname;

/** The release that has all that the witness calls, except for this function of subtrees, which it is not asked for. */
const MERKLE = 'github.com/transparency-dev/merkle@v0.0.2';
const SUBTREE = `package proof

import (
	"errors"

	"github.com/transparency-dev/merkle"
)

func VerifySubtreeConsistency(merkle.LogHasher, uint64, uint64, uint64, [][]byte, []byte, []byte) error {
	return errors.New("this release has no subtrees")
}
`;

/** Builds the witness of transparency-dev; returns the program. */
export function builtWitness(): string {
  const folder = mkdtempSync(join(tmpdir(), 'control-witness-'));
  cpSync(SOURCE, folder, { recursive: true });
  const module = execFileSync('go', ['mod', 'download', '-json', MERKLE], { cwd: tmpdir(), encoding: 'utf8' });
  // Go's modules are read-only, also their copies.
  execFileSync('cp', ['-r', '--no-preserve=mode', JSON.parse(module).Dir, join(folder, 'merkle')]);
  writeFileSync(join(folder, 'merkle', 'proof', 'subtree.go'), SUBTREE);
  const program = join(folder, 'witness');
  execFileSync('go', ['build', '-o', program, '.'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  return program;
}

/** The type of a key that cosigns (C2SP tlog-cosignature). */
const COSIGNATURE = 0x04;

/** A witness with a key and a memory of its own; runs again at the same address after `stop`. */
export class WitnessProcess {
  readonly #signer: NoteSigner;
  readonly #folder = mkdtempSync(join(tmpdir(), 'control-witness-state-'));
  #process: ReturnType<typeof spawn> | undefined;
  #listen = '127.0.0.1:0';

  constructor(
    private readonly program: string,
    readonly name: string,
    private readonly logs: readonly string[],
  ) {
    this.#signer = NoteSigner.generate(`${name}.example`);
  }

  get vkey(): string {
    return vkeyOf(this.#signer.name, this.#signer.publicKey, COSIGNATURE);
  }

  get url(): string {
    return `http://${this.#listen}`;
  }

  async start(): Promise<this> {
    const flags = ['-listen', this.#listen, '-key', this.#signer.toText(), '-state', this.#folder];
    const child = spawn(this.program, [...flags, ...this.logs.flatMap((log) => ['-log', log])], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#process = child;
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    this.#listen = new URL(line.split(' ')[0] ?? '').host;
    return this;
  }

  async stop(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (!child || child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
}
