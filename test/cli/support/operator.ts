import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MAIN, NODE, temporaryFolder } from './svc.js';

/** What a command wrote; on a terminal the two streams are one. */
export interface Written {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Somebody at a shell: a home, a working folder, `svc` among the programs. */
export class Operator {
  readonly folder = temporaryFolder();
  private readonly env: Record<string, string>;

  constructor(env: Record<string, string> = {}) {
    const bin = join(this.folder, 'bin');
    mkdirSync(bin);
    this.program('svc', `exec '${NODE}' '${MAIN}' "$@"`);
    this.env = {
      ...{ PATH: `${bin}:${process.env.PATH ?? ''}`, HOME: this.folder, TZ: 'UTC', TERM: 'xterm', SHELL: '/bin/sh' },
      ...{ SVC_CONFIG_DIR: join(this.folder, 'config'), ...env },
    };
  }

  /** A program of one's own. */
  program(name: string, script: string): void {
    const file = join(this.folder, 'bin', name);
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
  }

  /** With standard output and standard error in pipes. */
  run(command: string, env: Record<string, string> = {}): Promise<Written> {
    return this.spawned('sh', ['-c', command], env);
  }

  async runOnTerminal(command: string, env: Record<string, string> = {}, columns = 80): Promise<Written> {
    const inner = `stty cols ${columns}; eval "$COMMAND"`;
    const { code, stdout } = await this.spawned('/usr/bin/script', ['-qec', inner, '/dev/null'], {
      ...env,
      COMMAND: command,
    });
    return { code, stdout: stdout.replaceAll('\r\n', '\n'), stderr: '' };
  }

  private async spawned(program: string, args: string[], env: Record<string, string> = {}): Promise<Written> {
    const child = spawn(program, args, { cwd: this.folder, env: { ...this.env, ...env } });
    const written = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].setEncoding('utf8').on('data', (text: string) => {
        written[stream] += text;
      });
    }
    child.stdin.end();
    const code = await new Promise<number>((closed) => child.on('close', (status) => closed(status ?? -1)));
    return { code, ...written };
  }
}

/** A text in which what differs from run to run looks the same, and columns stand where they stood. */
export function normalized(text: string, folder: string): string {
  const ids = new Map<string, string>();
  const numbered = (id: string) => {
    if (!ids.has(id)) ids.set(id, `00000000-0000-7000-8000-${String(ids.size + 1).padStart(12, '0')}`);
    return ids.get(id) ?? '';
  };
  return (
    text
      .replaceAll(folder, '/work')
      .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, numbered)
      .replaceAll(/(?<==)[0-9a-f-]+…/g, (id) => `${'0'.repeat(id.length - 1)}…`)
      .replaceAll(/\bsvc_[A-Za-z0-9_-]{43}/g, `svc_${'x'.repeat(43)}`)
      .replaceAll(/\bsvc_\*{3}[A-Za-z0-9_-]{4}/g, 'svc_***xxxx')
      .replaceAll(/\b20(2[5-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '2026-01-01T00:00:00.000Z')
      .replaceAll(/\b20(2[5-9]|[3-9]\d)-\d\d-\d\d \d\d:\d\d:\d\d\b/g, '2026-01-01 00:00:00')
      .replaceAll(/(?<=^|\s)\d+[smhdy]( {2,}|(?=\n|$))/g, (age) => 'AGE'.padEnd(age.length))
      .replaceAll(/(?<=\n\u001b\[2m)20(2[5-9]|[3-9]\d)-\d\d-\d\d(?=\u001b)/g, '2026-01-01')
      .replaceAll(/\((\d+[smhdy] ago|in \d+[smhdy])\)/g, '(AGE)')
      .replaceAll(/(?<= {2})[0-9a-f]{8}(?=\n|$)/g, 'SHORT-ID')
      .replaceAll(/\b[0-9a-f]{64}\b/g, 'f'.repeat(64))
      // Whether there was time to show progress, before it was cleared, is a matter of chance.
      .replaceAll(/(\r\u001b\[K[^\r\n]+)+\r\u001b\[K/g, '')
      .replaceAll(/\b\d+ ms\b/g, 'N ms')
      .replaceAll(/127\.0\.0\.1:\d{5}\b/g, '127.0.0.1:12345')
      .replaceAll(/cursor=[A-Za-z0-9_.%-]+/g, 'cursor=...')
      .replaceAll(/(?<=< date: ).*/g, 'Thu, 01 Jan 2026 00:00:00 GMT')
  );
}
