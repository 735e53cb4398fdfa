import { Option } from 'clipanion';
import { elements, type Member, member, members } from '../../client/json-text.js';
import { ApiCommand, type TimeStyle } from '../command.js';
import type { TextForms } from '../output/document.js';
import { CliError, EXIT, UsageError } from '../output/failures.js';
import type { Column } from '../output/table.js';
import { formatTime } from '../output/time.js';

const unavailable = { formats: ['tf', 'crd'] as const, subject: 'dead letters' };

/** What the text format shows of a letter. Its texts come from whoever wrote the record. */
interface ShownLetter {
  place?: unknown;
  time?: unknown;
  reason?: unknown;
  key?: unknown;
  bytes?: unknown;
  replayed?: unknown;
}

const text = (value: unknown): string => (value == null ? '' : String(value));

const columns = (style: TimeStyle): Column<ShownLetter>[] => [
  { header: 'PLACE', value: ({ place }) => text(place) },
  { header: 'TIME', value: ({ time }) => formatTime(text(time), style, Date.now()) },
  { header: 'BYTES', value: ({ bytes }) => text(bytes) },
  { header: 'REPLAYED', value: ({ replayed }) => (replayed === true ? 'yes' : 'no') },
  { header: 'KEY', value: ({ key }) => text(key), shrinks: true },
  { header: 'REASON', value: ({ reason }) => text(reason), shrinks: true },
];

/** No page is larger, so that one of large records fits into memory. */
const PAGE_SIZE = 200;

class DeadLetterList extends ApiCommand {
  static override paths = [['dead-letter', 'list']];
  static override usage = ApiCommand.Usage({
    description: 'list the records that can never be indexed as they are; the token is the root key',
    details:
      'A letter is named by the place of its record in the log. `replayed` tells whether the record was appended to its topic once more.',
    examples: [
      ['What is open', 'svc dead-letter list --open --token "$(cat data/root.key)"'],
      ['All of them with their bytes in base64, as JSON', 'svc dead-letter list --raw --max 0 -o json'],
    ],
  });

  open = Option.Boolean('--open', false, { description: 'only those that were not replayed' });
  raw = Option.Boolean('--raw', false, { description: "with each record's bytes, in base64; not in text output" });
  protected override readonly unavailable = unavailable;

  protected async run(): Promise<number> {
    await this.requireToken();
    const [client, { openList }, { TablePrinter }] = await Promise.all([
      this.client(),
      import('../output/document.js'),
      import('../output/table.js'),
    ]);
    const { terminal, format, limit } = this;
    const table = new TablePrinter(terminal, columns(this.timeStyle));
    const parse = (raw: string) => (JSON.parse(raw) ?? {}) as ShownLetter;
    const forms: TextForms = {
      rows: (raws) => table.print(raws.map(parse)),
      name: (raw) => text(parse(raw).place),
    };
    const sink = openList(terminal, format, forms);
    let links: Member | undefined;
    let left = limit;
    for (let at: string | undefined = this.#start(); at !== undefined && left > 0 && !terminal.outputClosed; ) {
      const body: string = await client.call({ method: 'GET', path: at, on: 'api', retry: 'safe' });
      if (!links) {
        await sink.begin(members(body).filter(({ name }) => !['items', 'links'].includes(name)));
        links = { name: 'links', raw: linksText(body, 'self') };
      }
      const items = elements(member(body, 'items') ?? '[]').slice(0, left);
      await sink.items(items);
      left -= items.length;
      at = nextOf(body);
    }
    await sink.end(links ? [links] : []);
    return EXIT.ok;
  }

  #start(): string {
    const size = Math.min(this.limit, PAGE_SIZE);
    return `/-dead-letters?limit=${size}${this.open ? '&open=true' : ''}${this.raw ? '&raw=true' : ''}`;
  }
}

type Links = { rel?: unknown; href?: unknown }[];

const linksOf = (body: string): Links => (JSON.parse(member(body, 'links') ?? '[]') as Links | null) ?? [];

const linksText = (body: string, rel: string): string =>
  JSON.stringify(linksOf(body).filter((link) => link.rel === rel));

/** A path on the API; a link to anywhere else is not followed, since the key would travel along. */
function nextOf(body: string): string | undefined {
  const href = linksOf(body).find(({ rel }) => rel === 'next')?.href;
  if (href === undefined) return undefined;
  if (typeof href !== 'string' || !/^\/(?!\/)[\x21-\x7e]*$/.test(href))
    throw new CliError('the service sent a `next` link that is not a path');
  return href;
}

interface ShownReplay {
  place?: unknown;
  now?: unknown;
}

class DeadLetterReplay extends ApiCommand {
  static override paths = [['dead-letter', 'replay']];
  static override usage = ApiCommand.Usage({
    description: 'append records of dead letters to their topic once more; the token is the root key',
    details:
      'The projection takes them up by the rules of the program that runs now. What it still cannot read becomes a letter of its new place; ' +
      'an event that is there already stays as it is.',
    examples: [
      ['All that is open, after an upgrade', 'svc dead-letter replay --all --token "$(cat data/root.key)"'],
      ['One letter', 'svc dead-letter replay audit/0/4711'],
      ['One that was replayed before', 'svc dead-letter replay audit/0/4711 --force'],
    ],
  });

  places = Option.Rest({ name: 'place', required: 0 });
  all = Option.Boolean('--all', false, { description: 'all letters that were not replayed' });
  force = Option.Boolean('--force', false, { description: 'also letters that were replayed before' });
  protected override readonly unavailable = unavailable;

  protected async run(): Promise<number> {
    const { places, all, force, terminal, format } = this;
    if (all === places.length > 0) throw new UsageError('give either the places of letters, or --all');
    if (all && force) throw new UsageError('--force goes with places, not with --all');
    await this.requireToken();
    const [client, { isDocument, showResource }] = await Promise.all([this.client(), import('../output/document.js')]);
    const body = JSON.stringify({ ...(!all && { places }), ...(force && { force }) });
    const answer = await client.call({
      method: 'POST',
      path: '/-dead-letters/-replay',
      on: 'api',
      body,
      retry: 'never',
    });
    const items = ((JSON.parse(answer) as { items?: ShownReplay[] } | null)?.items ?? []) as ShownReplay[];
    if (isDocument(format)) await showResource(terminal, format, answer);
    else await this.#show(items);
    terminal.note(`replayed ${items.length}`);
    return EXIT.ok;
  }

  async #show(items: readonly ShownReplay[]): Promise<void> {
    const { TablePrinter } = await import('../output/table.js');
    const columns: Column<ShownReplay>[] = [
      { header: 'PLACE', value: ({ place }) => text(place) },
      { header: 'NOW', value: ({ now }) => text(now) },
    ];
    const shown = this.format === 'names' ? columns.slice(1) : columns;
    await new TablePrinter(this.terminal, shown).print(items);
  }
}

export const COMMANDS = [DeadLetterList, DeadLetterReplay];
