import { createHash } from 'node:crypto';
import { type FileHandle, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { basename } from 'node:path';
import { Option } from 'clipanion';
import { ApiCommand, onlyIn } from '../command.js';
import { CliError, EXIT } from '../output/failures.js';
import { giveName, openNew, requireAbsent, writing } from '../output/new-file.js';

/** A large log takes its time to be copied before the first byte comes. */
const IDLE_MS = 60 * 60_000;

class Backup extends ApiCommand {
  static override paths = [['backup']];
  static override usage = ApiCommand.Usage({
    description: 'copy the log of the service to a file; needs the root key',
    details:
      'The copy holds all organizations and everything acknowledged before. The file gets its name only when it is whole and its SHA-256 is right; ' +
      'that is written to FILE.sha256, and to standard output. Existing files are never replaced. `control-service restore` puts the file into a data folder.',
    examples: [
      ['Copy it', 'SVC_TOKEN="$(cat data/root.key)" svc backup --to log-backup.db'],
      ['Check a copy later', 'sha256sum --check log-backup.db.sha256'],
    ],
  });

  to = Option.String('--to', { description: 'file to write', required: true });
  protected override readonly unavailable = onlyIn(['text'], 'a backup');

  protected async run(): Promise<void> {
    const client = await this.authorized();
    await this.#requireNew();
    const call = { method: 'GET', path: '/-backup', on: 'api', retry: 'never', idleMs: IDLE_MS } as const;
    const { sha256, heads, bytes } = await client.download(call, (answer) => this.#write(answer));
    this.terminal.note(`backed up ${bytes} bytes, records ${heads.replaceAll('=', ': ').replaceAll(',', ', ')}`);
    await this.terminal.out(`${sha256}  ${basename(this.to)}\n`);
  }

  /** Before the log is copied: it takes its time. */
  async #requireNew(): Promise<void> {
    const another = 'choose another name, or remove it';
    await writing(this.to, async () => {
      await requireAbsent(this.to, another);
      await requireAbsent(`${this.to}.sha256`, another);
      await requireAbsent(`${this.to}.part`, 'another backup writes it, or one was killed: remove it then');
    });
  }

  async #write(answer: IncomingMessage): Promise<{ sha256: string; heads: string; bytes: number }> {
    const part = `${this.to}.part`;
    const file = await writing(this.to, () => openNew(part));
    try {
      const { sha256, bytes } = await this.#receive(answer, file);
      if (sha256 !== answer.headers['x-backup-sha256']) {
        throw new CliError('the backup was damaged on the way: its SHA-256 differs', EXIT.failure, ['try again']);
      }
      await writing(this.to, async () => {
        await file.sync();
        await writeFile(`${this.to}.sha256`, `${sha256}  ${basename(this.to)}\n`, { flag: 'wx', mode: 0o600 });
        await giveName(part, this.to);
      });
      return { sha256, bytes, heads: String(answer.headers['x-backup-heads'] ?? '') };
    } finally {
      await file.close();
      await rm(part, { force: true });
    }
  }

  async #receive(answer: IncomingMessage, file: FileHandle): Promise<{ sha256: string; bytes: number }> {
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      hash.update(chunk);
      await writing(this.to, () => file.writeFile(chunk));
      bytes += chunk.length;
      this.terminal.progress(`${bytes} of ${answer.headers['content-length'] ?? '?'} bytes`);
    }
    return { sha256: hash.digest('hex'), bytes };
  }
}

export const COMMANDS = [Backup];
