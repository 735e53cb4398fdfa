import type { ApiClient } from '../../client/api-client.js';
import { Interrupted } from '../../client/errors.js';
import { member } from '../../client/json-text.js';
import { CliError, EXIT } from '../output/failures.js';
import type { Terminal } from '../terminal.js';

const LOOK_MS = { first: 100, most: 1_000, growth: 1.5 };

/** What the service tells of a job. */
interface ShownJob {
  id?: string;
  state?: string;
  phase?: string;
  done?: number;
  total?: number;
  error?: string;
}

export interface JobRun {
  client: ApiClient;
  terminal: Terminal;
  /** Where it is started and its state is read; also what to call it. */
  path: string;
  name: string;
  body: object;
}

/** Starts a job; answers its state as the service has it. */
export function startJob({ client, path, body }: JobRun): Promise<string> {
  return client.call({ method: 'POST', path, on: 'api', body: JSON.stringify(body), retry: 'never' });
}

/** Waits for the end of a job that was started, showing how far it is; answers its report's text. */
export async function awaitJob(run: JobRun, started: string): Promise<string> {
  try {
    return await follow(run, parse(started));
  } catch (error) {
    if (error instanceof Interrupted) run.terminal.note(`the ${run.name} goes on in the service`);
    throw error;
  }
}

async function follow(run: JobRun, started: ShownJob): Promise<string> {
  const { client, terminal, name, path } = run;
  for (let wait = LOOK_MS.first; ; wait = Math.min(LOOK_MS.most, wait * LOOK_MS.growth)) {
    await client.pause(wait);
    const text = await client.call({ method: 'GET', path, on: 'api', retry: 'patient' });
    const { id, state, phase = '', done = 0, total = 0, error = '' } = parse(text);
    if (id !== started.id || state === 'idle') {
      throw new CliError(`the process that answers knows nothing of this ${name}`, EXIT.failure, [
        'where several processes serve, --endpoint must name the one that runs it; a process that was started again forgets it',
      ]);
    }
    if (state === 'failed') throw new CliError(`the ${name} failed: ${error}`);
    const report = member(text, 'report');
    if (state === 'done' && report !== undefined) return report;
    terminal.progress(`${phase}: ${done} of ${total} records`);
  }
}

function parse(text: string): ShownJob {
  const job = JSON.parse(text) as ShownJob | null;
  if (typeof job?.id !== 'string' && job?.state !== 'idle')
    throw new CliError('the answer of the service is not the state of a job');
  return job;
}
