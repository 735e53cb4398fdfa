import { Option } from 'clipanion';
import { type ApiClient, path } from '../../../client/api-client.js';
import { isWholeNumber, LIMITS } from '../../../contract/limits.js';
import { ApiCommand, onlyIn } from '../../command.js';
import { isDocument, showAnswer, showResource } from '../../output/document.js';
import { UsageError } from '../../output/failures.js';
import type { Column } from '../../output/table.js';
import { textOf, timeText } from '../../output/values.js';

interface Context {
  readonly name?: unknown;
  readonly count?: unknown;
  readonly retentionDays?: unknown;
  readonly deniedRetentionDays?: unknown;
  readonly lastModified?: unknown;
}

/** In place of a number of days. */
const FOR_EVER = 'forever';

/** Lists the audit contexts, and shows and sets for how long one serves its events. */
export class AuditContexts extends ApiCommand {
  static override paths = [['audit', 'contexts']];
  static override usage = ApiCommand.Usage({
    description: 'list audit contexts with their events and retention, or show and set one',
    details:
      'Events older than the retention are hidden at once and for ever: a longer one brings none of them back. In `svc` only the ' +
      'retention of denied attempts can be set.',
    examples: [
      ['All that the key may read', 'svc audit contexts'],
      ['One, with all its settings', 'svc audit contexts orders -o yaml'],
      ['Serve the events of one for a year', 'svc audit contexts orders --retention 365'],
      ['Serve them for ever from now on', 'svc audit contexts orders --retention forever'],
      ['Keep denied attempts for 90 days', 'svc audit contexts svc --denied-retention 90'],
    ],
  });

  name = Option.String({ name: 'context', required: false });
  retention = Option.String('--retention', { description: 'days for which events are served, or forever' });
  denied = Option.String('--denied-retention', {
    description: 'of svc: days for which denied attempts are served, or forever',
  });
  protected override readonly unavailable = onlyIn(['text', 'json', 'yaml', 'names'], 'audit contexts');

  protected async run(): Promise<void> {
    const settings = {
      ...(this.retention !== undefined && { retentionDays: daysOf('--retention', this.retention) }),
      ...(this.denied !== undefined && { deniedRetentionDays: daysOf('--denied-retention', this.denied) }),
    };
    const isSet = Object.keys(settings).length > 0;
    if (isSet && this.name === undefined) throw new UsageError('name the audit context to set the retention of');
    const org = await this.requireOrg();
    const client = await this.authorized();
    if (this.name === undefined) return this.#list(client, org);
    const at = path`/audit/org/${org}/auditctx/${this.name}`;
    const read = { method: 'GET', path: at, on: 'audit', retry: 'safe' } as const;
    if (!isSet) return this.#show(await client.call(read));
    await this.#confirmShorter(JSON.parse(await client.call(read).catch(noneYet)) as Context, settings);
    const put = { method: 'PUT', path: at, on: 'audit', body: JSON.stringify(settings), retry: 'safe' } as const;
    await this.#show(await client.call(put));
  }

  async #list(client: ApiClient, org: string): Promise<void> {
    const answer = await client.call({
      method: 'GET',
      path: path`/audit/org/${org}/auditctx`,
      on: 'audit',
      retry: 'safe',
    });
    const { items = [] } = JSON.parse(answer) as { items?: readonly Context[] };
    const shown = items.slice(0, this.limit);
    await this.#table(answer, shown);
    if (shown.length < items.length) {
      this.terminal.note(`${shown.length} shown, ${items.length - shown.length} more exist (--max 0 for all)`);
    }
  }

  async #show(answer: string): Promise<void> {
    if (isDocument(this.format)) return showResource(this.terminal, this.format, answer);
    await this.#table(answer, [JSON.parse(answer) as Context]);
  }

  #table(answer: string, items: readonly Context[]): Promise<void> {
    const columns: Column<Context>[] = [
      { header: 'CONTEXT', value: ({ name }) => textOf(name), shrinks: true },
      { header: 'EVENTS', value: ({ count }) => textOf(count) },
      { header: 'RETENTION', value: ({ retentionDays }) => daysText(retentionDays) },
      { header: 'DENIED ATTEMPTS', value: (one) => (deniedOf(one) === undefined ? '' : daysText(deniedOf(one))) },
      { header: 'CHANGED', value: ({ lastModified }) => timeText(lastModified, this.timeStyle) },
    ];
    return showAnswer(this.terminal, this.format, answer, { items, columns, name: ({ name }) => textOf(name) });
  }

  /** What a shorter retention hides stays hidden. */
  async #confirmShorter(before: Context, settings: Context): Promise<void> {
    const shorter = (['retentionDays', 'deniedRetentionDays'] as const).find(
      (one) => settings[one] !== undefined && lengthOf(settings[one]) < lengthOf(before[one]),
    );
    if (shorter === undefined) return;
    const what = shorter === 'retentionDays' ? 'events' : 'denied attempts';
    await this.confirm(`hide ${what} of ${this.name} older than ${daysText(settings[shorter])} for ever?`);
  }
}

const deniedOf = ({ deniedRetentionDays }: Context): unknown => deniedRetentionDays;
const lengthOf = (days: unknown): number => (typeof days === 'number' ? days : Number.POSITIVE_INFINITY);
const daysText = (days: unknown): string => (typeof days === 'number' ? `${days}d` : FOR_EVER);

function daysOf(option: string, text: string): number | null {
  if (text === FOR_EVER) return null;
  const days = /^(\d+)d?$/.exec(text)?.[1] ?? '';
  if (isWholeNumber(days, 1, LIMITS.retentionDays)) return Number(days);
  throw new UsageError(`${option} is a number of days from 1 to ${LIMITS.retentionDays}, or forever, not \`${text}\``);
}

/** A context without events and settings can be set all the same. */
function noneYet(error: unknown): string {
  if ((error as { body?: { code?: unknown } }).body?.code === 'not_found') return '{}';
  throw error;
}
