import type { ApiClient } from '../../client/api-client.js';
import { ApiError } from '../../client/errors.js';
import { ApiCommand, undeclared } from '../command.js';
import { isDocument, printLines, showResource } from '../output/document.js';
import { EXIT } from '../output/failures.js';

class Status extends ApiCommand {
  static override paths = [['status']];
  static override usage = ApiCommand.Usage({
    description: 'show the address and version of the service, whether it is ready, and its lag',
    details:
      'It needs no key. The lag is the number of records that are in the log and that reads do not find yet. The exit code is 1 ' +
      'if the service is not ready.',
    examples: [
      ['The service of the profile', 'svc status'],
      ['Wait until it is ready', 'until svc status -q; do sleep 1; done'],
    ],
  });

  protected override readonly unavailable = undeclared('the status');

  protected async run(): Promise<number> {
    const client = await this.client();
    const { endpoint, profile } = await this.settings();
    const missing = await notReadyBecause(client);
    const { info } = JSON.parse(await client.call({ ...GET, path: '/openapi.json' })) as { info: { version: string } };
    const lag = await lagOf(client);
    const ready = missing.length === 0;
    const status = { kind: 'status', endpoint, profile, version: info.version, ready, missing, lag };
    const { format, terminal } = this;
    if (isDocument(format)) await showResource(terminal, format, JSON.stringify(status));
    else if (format === 'names') await printLines(terminal, [endpoint]);
    else {
      await printLines(terminal, [
        `endpoint:  ${endpoint}`,
        `profile:   ${profile ?? '(none)'}`,
        `version:   ${info.version}`,
        `ready:     ${ready ? 'yes' : `no: ${missing.join('; ')}`}`,
        `lag:       ${lag ?? 'unknown'}`,
      ]);
    }
    return ready ? EXIT.ok : EXIT.failure;
  }
}

const GET = { method: 'GET', on: 'api', retry: 'never' } as const;

/** What the service waits for; nothing if it is ready. */
async function notReadyBecause(client: ApiClient): Promise<readonly string[]> {
  try {
    await client.call({ ...GET, path: '/health/ready' });
    return [];
  } catch (error) {
    if (!(error instanceof ApiError) || error.body.code !== 'not_ready') throw error;
    return [error.body.message];
  }
}

/** How many records are not in the read model yet, as far as this process knows. */
async function lagOf(client: ApiClient): Promise<number | undefined> {
  let text = '';
  await client.download({ ...GET, path: '/metrics' }, async (answer) => {
    for await (const chunk of answer.setEncoding('utf8')) text += chunk as string;
  });
  const values = [...text.matchAll(/^control_projection_lag_records\{[^}]*\} (\d+)$/gm)].map(([, value]) =>
    Number(value),
  );
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}

export const COMMANDS = [Status];
