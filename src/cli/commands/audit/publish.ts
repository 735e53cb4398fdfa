import { randomUUID } from 'node:crypto';
import { createReadStream, type ReadStream, statSync } from 'node:fs';
import { Option } from 'clipanion';
import { ApiCommand, undeclared } from '../../command.js';
import { openList } from '../../output/document.js';
import { CliError, describeItem, EXIT, UsageError } from '../../output/failures.js';
import { fileFault } from '../../output/file-fault.js';
import { progressBar } from '../../output/progress-bar.js';
import { TablePrinter } from '../../output/table.js';
import { type Fault, type Item, readItems } from '../../publish/items.js';
import { readPieces } from '../../publish/pieces.js';
import { type Outcome, Publisher } from '../../publish/publisher.js';

interface Tally {
  succeeded: number;
  /** Of those, how many were recorded before. */
  repeated: number;
  failed: number;
  firstId: string | undefined;
  lastId: string | undefined;
}

/** Publishes the events of a file, or one event given by options. */
export class AuditPublish extends ApiCommand {
  static override paths = [['audit', 'publish']];
  static override usage = ApiCommand.Usage({
    description: 'publish audit events from a file, from standard input, or one event from options',
    details:
      'The file is NDJSON (one event a line), a JSON array of events, or one event. Of a line {"source": ..., "event": {...}} the event is published. ' +
      'Each event is sent as it is written, with an idempotency key made of its bytes and the number of its occurrence: the same publisher publishing the file again adds nothing.',
    examples: [
      ['A file of many events', 'svc audit publish --context default --file events.ndjson'],
      ['From another program', 'journal-to-events | svc audit publish -f - --async'],
      ['One event', 'svc audit publish --resource-name web --action-type restart --result-status OK'],
    ],
  });

  contextName = Option.String('--context', 'default', {
    description: 'audit context to publish into; default `default`',
  });
  file = Option.String('-f,--file', { description: 'file of events; - for standard input' });
  async = Option.Boolean('--async', false, { description: 'return when the events are in the log, not yet indexed' });
  resourceName = Option.String('--resource-name', { description: 'one event: name of the resource' });
  resourceId = Option.String('--resource-id', { description: 'one event: identifier of the resource' });
  resourceType = Option.String('--resource-type', { description: 'one event: type of the resource' });
  actionType = Option.String('--action-type', { description: 'one event: type of the action' });
  resultStatus = Option.String('--result-status', { description: 'one event: status of the result' });
  subjectEmail = Option.String('--subject-email', { description: 'one event: e-mail address of the subject' });
  eventTime = Option.String('--event-time', { description: 'one event: when it happened, ISO 8601; default now' });
  idempotencyKey = Option.String('--idempotency-key', { description: 'one event: idempotency key' });
  protected override readonly unavailable = undeclared('audit events');
  /** Of the file, if one is read. */
  #bytes: ReadStream | undefined;

  protected async run(): Promise<number> {
    const items = await this.#items();
    const org = await this.requireOrg();
    const client = await this.authorized();
    const { format, terminal } = this;
    const publisher = new Publisher(client, { org, context: this.contextName, async: this.async });
    const tally: Tally = { succeeded: 0, repeated: 0, failed: 0, firstId: undefined, lastId: undefined };
    const list = openList(terminal, format, {
      rows: async () => {},
      name: (raw) => (JSON.parse(raw) as { id?: string }).id,
    });
    await list.begin([{ name: 'kind', raw: '"publishresult"' }]);
    const begun = performance.now();
    try {
      for await (const outcomes of publisher.publish(items)) {
        await list.items(outcomes.map((outcome) => JSON.stringify(outcome)));
        this.#count(outcomes, tally);
        terminal.progress(progressBar(this.#share(), tally.succeeded + tally.failed, performance.now() - begun));
      }
    } finally {
      const { succeeded, repeated, failed } = tally;
      const news = this.async ? '' : ` (${succeeded - repeated} new, ${repeated} recorded before)`;
      terminal.note(`published ${succeeded}${news}, failed ${failed}`);
      if (this.signal.aborted && this.#bytes)
        terminal.note('to go on, run it again: what is recorded is not recorded twice');
    }
    await list.end((['succeeded', 'failed'] as const).map((name) => ({ name, raw: String(tally[name]) })));
    if (format === 'text') await this.#summary(tally);
    return tally.failed > 0 ? EXIT.failure : EXIT.ok;
  }

  #count(outcomes: readonly Outcome[], tally: Tally): void {
    for (const outcome of outcomes) {
      if ('error' in outcome) {
        tally.failed++;
        this.terminal.error(`line ${outcome.line}: ${describeItem(outcome.error)}`);
      } else {
        tally.succeeded++;
        if (outcome.repeated) tally.repeated++;
        tally.firstId ??= outcome.id;
        tally.lastId = outcome.id;
      }
    }
  }

  async #summary(tally: Tally): Promise<void> {
    const table = new TablePrinter<Tally>(this.terminal, [
      { header: 'CONTEXT', value: () => this.contextName },
      { header: 'PUBLISHED', value: ({ succeeded }) => String(succeeded) },
      { header: 'FAILED', value: ({ failed }) => String(failed) },
      { header: 'FIRST ID', value: ({ firstId = '' }) => firstId },
      { header: 'LAST ID', value: ({ lastId = '' }) => lastId },
    ]);
    await table.print([tally]);
  }

  async #items(): Promise<AsyncIterable<Item | Fault>> {
    const event = this.#eventOfOptions();
    if (this.file === undefined) {
      if (!event) throw new UsageError('no event: give --file, or --resource-name or --resource-id');
      return oneItem({ line: 1, event: JSON.stringify(event), key: this.idempotencyKey ?? randomUUID() });
    }
    if (event || this.idempotencyKey !== undefined)
      throw new UsageError('--file and options of one event exclude each other');
    if (this.file === '-') return readItems(readPieces(this.terminal.input));
    this.#bytes = createReadStream(this.file);
    return readItems(readPieces(bytesOf(this.#bytes, this.file)));
  }

  /** How much of the file was read; undefined for what has no size. */
  #share(): number | undefined {
    const { file } = this;
    const size = file === undefined || file === '-' ? 0 : statSync(file, { throwIfNoEntry: false })?.size;
    return size && this.#bytes ? this.#bytes.bytesRead / size : undefined;
  }

  #eventOfOptions(): object | undefined {
    const { resourceName: name, resourceId: id, resourceType: type } = this;
    const { actionType, resultStatus, subjectEmail, eventTime } = this;
    const event = {
      ...((name ?? id ?? type) !== undefined && { resource: { id, name, type } }),
      ...(eventTime !== undefined && { eventTime }),
      ...(subjectEmail !== undefined && { subject: { email: subjectEmail } }),
      ...(actionType !== undefined && { action: { type: actionType } }),
      ...(resultStatus !== undefined && { result: { status: resultStatus } }),
    };
    return Object.keys(event).length > 0 ? event : undefined;
  }
}

async function* oneItem(item: Item): AsyncGenerator<Item> {
  yield item;
}

/** The file's bytes; the error for a file that cannot be read names it. */
async function* bytesOf(stream: ReadStream, file: string): AsyncGenerator<Buffer> {
  try {
    yield* stream;
  } catch (error) {
    throw new CliError(`cannot read ${file}: ${fileFault(error)}`, EXIT.failure, [], { cause: error });
  }
}
