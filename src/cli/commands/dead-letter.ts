import { Option } from 'clipanion';
import { PAGE_SIZE, queryText } from '../../client/pages.js';
import { ApiCommand, undeclared } from '../command.js';
import { openList, showAnswer, textForms } from '../output/document.js';
import { UsageError } from '../output/failures.js';
import type { Column } from '../output/table.js';
import { type Shown, textOf, timeText } from '../output/values.js';
import { showPages } from './pages.js';

const unavailable = undeclared('dead letters');

class DeadLetterList extends ApiCommand {
  static override paths = [['dead-letter', 'list']];
  static override usage = ApiCommand.Usage({
    description: 'list the records that cannot be indexed; needs the root key',
    details:
      'A dead letter is named by the position of its record in the log. `replayed` says whether the record was appended to its topic again.',
    examples: [
      ['What is open', 'SVC_TOKEN="$(cat data/root.key)" svc dead-letter list --open'],
      ['All of them with their bytes in base64, as JSON', 'svc dead-letter list --raw --max 0 -o json'],
    ],
  });

  open = Option.Boolean('--open', false, { description: 'only those that were not replayed' });
  raw = Option.Boolean('--raw', false, { description: "with each record's bytes, in base64; not in text output" });
  protected override readonly unavailable = unavailable;

  protected async run(): Promise<void> {
    const client = await this.authorized();
    const { terminal, format, limit, open, raw } = this;
    const query = {
      limit: String(Math.min(limit, PAGE_SIZE)),
      open: open ? 'true' : undefined,
      raw: raw ? 'true' : undefined,
    };
    await showPages({
      client,
      start: `/-dead-letters${queryText(query)}`,
      on: 'api',
      sink: openList(
        terminal,
        format,
        textForms(terminal, this.#columns, ({ place }: Shown) => textOf(place)),
      ),
      limit,
      withoutNext: true,
      terminal,
      nothing: 'No dead letters',
    });
  }

  get #columns(): Column<Shown>[] {
    return [
      { header: 'PLACE', value: ({ place }) => textOf(place) },
      { header: 'TIME', value: ({ time }) => timeText(time, this.timeStyle) },
      { header: 'BYTES', value: ({ bytes }) => textOf(bytes) },
      { header: 'REPLAYED', value: ({ replayed }) => (replayed === true ? 'yes' : 'no') },
      { header: 'KEY', value: ({ key }) => textOf(key), shrinks: true },
      { header: 'REASON', value: ({ reason }) => textOf(reason), shrinks: true },
    ];
  }
}

class DeadLetterReplay extends ApiCommand {
  static override paths = [['dead-letter', 'replay']];
  static override usage = ApiCommand.Usage({
    description: 'append records of dead letters to their topic again; needs the root key',
    details:
      'The projection reads them by the rules of the program that runs now. A record that still cannot be indexed becomes a dead letter of its new position; ' +
      'an event that already exists stays unchanged.',
    examples: [
      ['All that is open, after an upgrade', 'SVC_TOKEN="$(cat data/root.key)" svc dead-letter replay --all'],
      ['One letter', 'svc dead-letter replay audit/0/4711'],
      ['One that was replayed before', 'svc dead-letter replay audit/0/4711 --force'],
    ],
  });

  places = Option.Rest({ name: 'place', required: 0 });
  all = Option.Boolean('--all', false, { description: 'all letters that were not replayed' });
  force = Option.Boolean('--force', false, { description: 'also letters that were replayed before' });
  protected override readonly unavailable = unavailable;

  protected async run(): Promise<void> {
    const { places, all, force, terminal, format } = this;
    if (all === places.length > 0) throw new UsageError('give either the places of letters, or --all');
    if (all && force) throw new UsageError('--force needs places, not --all');
    const client = await this.authorized();
    const body = JSON.stringify({ ...(!all && { places }), ...(force && { force }) });
    const path = '/-dead-letters/-replay';
    const answer = await client.call({ method: 'POST', path, on: 'api', body, retry: 'never' });
    const { items = [] } = (JSON.parse(answer) ?? {}) as { items?: Shown[] };
    const columns: Column<Shown>[] = [
      { header: 'PLACE', value: ({ place }) => textOf(place) },
      { header: 'NOW', value: ({ now }) => textOf(now) },
    ];
    await showAnswer(terminal, format, answer, { items, columns, name: ({ now }) => textOf(now) });
    terminal.note(`replayed ${items.length}`);
  }
}

class DeadLetterSkip extends ApiCommand {
  static override paths = [['dead-letter', 'skip']];
  static override usage = ApiCommand.Usage({
    description: 'skip a record of control that cannot be read; needs the root key',
    details:
      'Such a record stops every process of a cluster, because later records may depend on it; readiness names its place. Skip it only if it is not a ' +
      'record of the service: for one of a newer version, start that version. The record becomes a dead letter.',
    examples: [
      ['The record that readiness names', 'SVC_TOKEN="$(cat data/root.key)" svc dead-letter skip control/0/4711'],
    ],
  });

  place = Option.String({ name: 'place' });
  protected override readonly unavailable = unavailable;

  protected async run(): Promise<void> {
    const { place, terminal, format } = this;
    const client = await this.authorized();
    const body = JSON.stringify({ place });
    const answer = await client.call({ method: 'POST', path: '/-dead-letters/-skip', on: 'api', body, retry: 'never' });
    const skipped = JSON.parse(answer) as Shown;
    const columns: Column<Shown>[] = [
      { header: 'PLACE', value: (shown) => textOf(shown.place) },
      { header: 'REASON', value: ({ reason }) => textOf(reason), shrinks: true },
    ];
    await showAnswer(terminal, format, answer, { items: [skipped], columns, name: (shown) => textOf(shown.place) });
  }
}

export const COMMANDS = [DeadLetterList, DeadLetterReplay, DeadLetterSkip];
