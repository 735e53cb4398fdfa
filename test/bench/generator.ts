import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';

export interface Job {
  /** Of several, the connections are shared out evenly. */
  readonly port: number | readonly number[];
  /** Whole requests, head and body, sent in turn. */
  readonly requests: readonly Uint8Array[];
  readonly connections: number;
  readonly seconds: number;
  /** Ends after so many requests, if the time is not over before. */
  readonly most?: number;
  /** What every answer must have; another one fails the run. */
  readonly status: string;
  readonly ending?: string;
}

export interface Load {
  readonly answered: number;
  /** From the first request to the last answer. */
  readonly ms: number;
  /** Of one request, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** The share of one core that the generator took: near 1, it measured itself. */
  readonly busy: number;
}

/** The process that makes the load; one job at a time. */
export class Generator {
  private readonly child: ChildProcess = fork(join(import.meta.dirname, 'load.ts'), { serialization: 'advanced' });

  run(job: Job): Promise<Load> {
    return new Promise((resolve, reject) => {
      const ended = () => reject(new Error('the load generator ended'));
      this.child.once('exit', ended);
      this.child.once('message', (answer: Load | { error: string }) => {
        this.child.off('exit', ended);
        if ('error' in answer) reject(new Error(answer.error));
        else resolve(answer);
      });
      this.child.send(job);
    });
  }

  close(): void {
    this.child.kill();
  }
}

/** A request as bytes. */
export function httpRequest(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array = '',
): Uint8Array {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const lines = [`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1'];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (bytes.length > 0) lines.push(`content-length: ${bytes.length}`);
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), bytes]);
}
