import { Option } from 'clipanion';
import type { ApiClient } from '../../client/api-client.js';
import { ClientError, Interrupted } from '../../client/errors.js';
import { member } from '../../contract/json-text.js';
import { ApiCommand, type Unavailable } from '../command.js';
import { isDocument, showResource } from '../output/document.js';
import { CliError, EXIT, UsageError } from '../output/failures.js';
import { type Column, TablePrinter } from '../output/table.js';
import { textOf } from '../output/values.js';
import type { Terminal } from '../terminal.js';

const POLL_MS = { first: 100, most: 1_000, growth: 1.5 };

export const unavailable = (subject: string): Unavailable => ({ formats: ['tf', 'crd', 'names'], subject });

/** The state of a long task of the service. */
interface TaskState {
  id?: string;
  state?: string;
  phase?: string;
  done?: number;
  total?: number;
  error?: string;
}

/** A command that starts a long task in the service and waits for its report. */
export abstract class TaskCommand<Report> extends ApiCommand {
  /** Where the task is started and its state is read. */
  protected abstract readonly at: string;
  protected abstract readonly task: string;

  /** Starts the task. The result is its state, as the service has it. */
  protected async start(body: object): Promise<string> {
    const client = await this.authorized();
    return client.call({ method: 'POST', path: this.at, on: 'api', body: JSON.stringify(body), retry: 'never' });
  }

  /** Waits for the end of the started task, showing its progress, and shows its report. */
  protected async report(started: string): Promise<Report> {
    const { format, terminal } = this;
    const text = await this.#reportOf(await this.client(), parseState(started)).catch((error) => {
      if (error instanceof Interrupted) terminal.note(`the ${this.task} goes on in the service`);
      throw error;
    });
    const report = JSON.parse(text) as Report;
    if (isDocument(format)) await showResource(terminal, format, text);
    else await this.show(report);
    return report;
  }

  protected abstract show(report: Report): Promise<void>;

  async #reportOf(client: ApiClient, started: TaskState): Promise<string> {
    for (let wait = POLL_MS.first; ; wait = Math.min(POLL_MS.most, wait * POLL_MS.growth)) {
      await client.pause(wait);
      const text = await client.call({ method: 'GET', path: this.at, on: 'api', retry: 'patient' });
      const { id, state, phase = '', done = 0, total = 0, error = '' } = parseState(text);
      if (id !== started.id || state === 'idle') {
        throw new CliError(`the service does not know this ${this.task} any more`, EXIT.failure, [
          'a service on the embedded store ends and forgets it when it restarts; start it again',
        ]);
      }
      if (state === 'failed') throw new CliError(`the ${this.task} failed: ${error}`);
      const report = member(text, 'report');
      if (state === 'done' && report !== undefined) return report;
      this.terminal.progress(`${phase}: ${done} of ${total} records`);
    }
  }
}

function parseState(text: string): TaskState {
  const task = JSON.parse(text) as TaskState | null;
  if (typeof task?.id !== 'string' && task?.state !== 'idle')
    throw new ClientError('the answer of the service is not the state of a job');
  return task;
}

export class Rebuild extends TaskCommand<ShownReport> {
  static override paths = [['rebuild']];
  static override usage = ApiCommand.Usage({
    description: 'rebuild the read model from the log while the old one serves; needs the root key',
    details:
      'Reads and writes go on meanwhile. When the new read model is complete it replaces the old one at once. The report says how ' +
      'the old one differed from the log: missing, altered or extra. Interrupting the command does not end the rebuild.',
    examples: [
      ['Rebuild, and wait for the end', 'SVC_TOKEN="$(cat data/root.key)" svc rebuild'],
      ['Start it, and read its state later', 'svc rebuild --no-wait -o json'],
    ],
  });

  wait = Option.Boolean('--wait', true, { description: 'wait for the end and show the report; --no-wait does not' });
  protected override readonly unavailable = unavailable('a rebuild');
  protected override readonly at = '/-rebuild';
  protected override readonly task = 'rebuild';

  protected override show(report: ShownReport): Promise<void> {
    return showReport(this.terminal, report);
  }

  protected async run(): Promise<void> {
    const { format, terminal } = this;
    const started = await this.start({});
    if (this.wait) await this.report(started);
    else if (isDocument(format)) await showResource(terminal, format, started);
    else terminal.note('the rebuild has begun');
  }
}

export class Reconcile extends TaskCommand<ShownReport> {
  static override paths = [['reconcile']];
  static override usage = ApiCommand.Usage({
    description: 'compare the read model with the log, and repair it; needs the root key',
    details:
      'Shows what is missing, altered, extra (not in the log) or misplaced (where reads do not look for it). The exit code is 1 ' +
      'when differences are left that were not repaired. Reads and writes go on meanwhile; what they change is not taken for a difference.',
    examples: [
      ['Compare everything', 'SVC_TOKEN="$(cat data/root.key)" svc reconcile'],
      ['Repair what differs', 'svc reconcile --repair'],
      ['A part of the log, as JSON', 'svc reconcile --topic audit --partition 0 --from 0 --to 100000 -o json'],
    ],
  });

  repair = Option.Boolean('--repair', false, { description: 'make what differs as the log says' });
  topic = Option.String('--topic', { description: 'compare only what comes from this topic: audit or control' });
  partition = Option.String('--partition', { description: 'with --topic: only from this partition' });
  from = Option.String('--from', { description: 'with --topic: first offset' });
  to = Option.String('--to', { description: 'with --topic: end offset (exclusive)' });
  protected override readonly unavailable = unavailable('a reconciliation');
  protected override readonly at = '/-reconcile';
  protected override readonly task = 'reconciliation';

  protected override show(report: ShownReport): Promise<void> {
    return showReport(this.terminal, report);
  }

  protected async run(): Promise<number> {
    const report = await this.report(await this.start(this.#body()));
    return total(report) > (report.repaired ?? 0) ? EXIT.failure : EXIT.ok;
  }

  #body(): Record<string, unknown> {
    const { repair, topic } = this;
    const offsets = { partition: this.partition, from: this.from, to: this.to };
    const given = Object.entries(offsets).filter((entry): entry is [string, string] => entry[1] !== undefined);
    if (topic !== undefined && !['audit', 'control'].includes(topic)) {
      throw new UsageError(`--topic is audit or control, not \`${topic}\``);
    }
    const range = given.map(([name, value]) => {
      if (topic === undefined) throw new UsageError(`--${name} needs --topic`);
      if (!/^\d{1,15}$/.test(value)) throw new UsageError(`--${name} is a whole number from 0, not \`${value}\``);
      return [name, Number(value)] as const;
    });
    return { ...(repair && { repair }), ...(topic !== undefined && { topic }), ...Object.fromEntries(range) };
  }
}

/** A document that differs. */
interface ShownDifference {
  problem?: unknown;
  itemKind?: unknown;
  org?: unknown;
  id?: unknown;
  topic?: unknown;
  partition?: unknown;
  offset?: unknown;
  repaired?: unknown;
}

/** The report of a rebuild or of a reconciliation. */
interface ShownReport {
  generation?: number;
  records?: number;
  unreadable?: number;
  compared?: number;
  repaired?: number;
  differences?: Record<string, number>;
  items?: ShownDifference[];
  omitted?: number;
}

const COLUMNS: readonly Column<ShownDifference>[] = [
  { header: 'PROBLEM', value: ({ problem }) => textOf(problem) },
  { header: 'KIND', value: ({ itemKind }) => textOf(itemKind) },
  { header: 'ORG', value: ({ org }) => textOf(org), shrinks: true },
  { header: 'ID', value: ({ id }) => textOf(id) },
  { header: 'PLACE', value: ({ topic, partition, offset }) => [topic, partition, offset].map(textOf).join('/') },
];

const REPAIRED: Column<ShownDifference> = {
  header: 'REPAIRED',
  value: ({ repaired }) => (repaired === true ? 'yes' : 'no'),
};

const NUMBERS = ['generation', 'records', 'unreadable', 'compared', 'repaired'] as const;

/** Shows the counts on one line, and below them the differences, one a line. */
async function showReport(terminal: Terminal, report: ShownReport): Promise<void> {
  const { items = [], omitted = 0, differences = {} } = report;
  const numbers = NUMBERS.filter((name) => report[name] !== undefined).map((name) => [name, report[name]] as const);
  const counts = [...numbers, ...Object.entries(differences)].map(([name, count]): Column<ShownReport> => {
    return { header: name.toUpperCase(), value: () => textOf(count) };
  });
  await new TablePrinter(terminal, counts).print([report]);
  if (items.length === 0) return;
  await terminal.out('\n');
  await new TablePrinter(terminal, report.repaired === undefined ? COLUMNS : [...COLUMNS, REPAIRED]).print(items);
  if (omitted > 0) terminal.note(`${omitted} more are counted, but not named`);
}

const total = ({ differences = {} }: ShownReport): number =>
  Object.values(differences).reduce((sum, count) => sum + count, 0);
