import { KIND_NAMES, KINDS, type KindName } from '../kinds.js';

/** Documents of these kinds are many and only ever created: they have an index a month, the others one for all. */
export function isMonthly(kind: KindName): boolean {
  return KINDS[kind].received;
}

export const SINGLE_KINDS: readonly KindName[] = KIND_NAMES.filter((kind) => !isMonthly(kind));

/**
 * The names of all indices and aliases, made from the operator's prefix, kinds, generation numbers and months alone.
 *
 * Every index holds the number of its generation in its name, and what it holds is written through an alias of its own:
 * Elasticsearch is told to require an alias, so it never makes up an index where the real one is gone. Reads go through
 * the aliases of the live generation, which have the same names for ever.
 */
export class Names {
  private last = { generation: 0, month: '', name: '' };

  constructor(private readonly prefix: string) {}

  /** How far the log is in a generation; says whether it is live. */
  progress(generation: number): string {
    return `${this.prefix}progress-${generation}`;
  }

  months(generation: number): string {
    return `${this.prefix}audit-events-${generation}-*`;
  }

  month(generation: number, month: string): string {
    // Documents of one month follow each other.
    if (month !== this.last.month || generation !== this.last.generation) {
      this.last = { generation, month, name: `${this.prefix}audit-events-${generation}-${month}` };
    }
    return this.last.name;
  }

  /** Where the events stand whose identifiers do not say so. */
  keys(generation: number): string {
    return `${this.prefix}audit-keys-${generation}`;
  }

  kind(generation: number, kind: KindName): string {
    return `${this.prefix}${kind}-${generation}`;
  }

  /** Everything of the generation but its months and its progress. */
  fixed(generation: number): readonly string[] {
    return [this.keys(generation), ...SINGLE_KINDS.map((kind) => this.kind(generation, kind))];
  }

  /** All documents of a kind in a generation. */
  documents(generation: number, kind: KindName): string {
    return isMonthly(kind) ? this.months(generation) : this.kind(generation, kind);
  }

  /** Pattern of all indices of all generations. It may match more: `generationIn` knows. */
  get every(): string {
    return `${this.prefix}*`;
  }

  get everyProgress(): string {
    return `${this.prefix}progress-*`;
  }

  /** Pattern of all indices of a generation. It may match more, too. */
  everyOf(generation: number): string {
    return `${this.prefix}*-${generation}*`;
  }

  /**
   * To which generation an index belongs; undefined for what is not this service's. The prefix of another service may
   * begin with this one's.
   */
  generationIn(index: string): number | undefined {
    const [, single, monthly] =
      /^(?:audit-keys|[a-z]+)-(\d{1,15})$|^audit-events-(\d{1,15})-\d{4,5}\.\d{2}$/.exec(this.rest(index, '') ?? '') ??
      [];
    const number = single ?? monthly;
    return number === undefined ? undefined : Number(number);
  }

  monthOf(generation: number, index: string): string | undefined {
    const month = this.rest(index, `audit-events-${generation}-`);
    return month !== undefined && /^\d{4,5}\.\d{2}$/.test(month) ? month : undefined;
  }

  /** An index is written through this. For progress: while it is not sealed. */
  writer(index: string): string {
    return `${this.prefix}write-${index.slice(this.prefix.length)}`;
  }

  /** Progress is written through this, sealed or not. */
  keeper(generation: number): string {
    return `${this.prefix}keep-${generation}`;
  }

  /** On the progress index of a generation that is not live yet. */
  get building(): string {
    return `${this.prefix}building`;
  }

  /** On the progress index of a live generation that does not have everything yet which the log had when it was made. */
  get filling(): string {
    return `${this.prefix}filling`;
  }

  /** On the progress index while its generation is sealed, in place of the writer. */
  seal(generation: number, until: number, token: string): string {
    return `${this.prefix}sealed-${generation}-${until}-${token}`;
  }

  /** Until when an alias seals a generation. */
  sealedUntil(generation: number, alias: string): number | undefined {
    const seal = this.rest(alias, `sealed-${generation}-`);
    return seal === undefined ? undefined : Number(seal.split('-', 1)[0]);
  }

  /** On the progress index while somebody drops a month. */
  claim(generation: number, month: string, at: number, token: string): string {
    return `${this.prefix}dropping-${generation}-${month}-${at}-${token}`;
  }

  claimed(generation: number, alias: string): { readonly month: string; readonly at: number } | undefined {
    const [month, at] = this.rest(alias, `dropping-${generation}-`)?.split('-') ?? [];
    return month === undefined ? undefined : { month, at: Number(at) };
  }

  get liveProgress(): string {
    return `${this.prefix}progress`;
  }

  get liveKeys(): string {
    return `${this.prefix}audit-keys`;
  }

  get liveEvents(): string {
    return `${this.prefix}audit-events`;
  }

  liveMonth(month: string): string {
    return `${this.prefix}audit-events-${month}`;
  }

  liveDocuments(kind: KindName): string {
    return isMonthly(kind) ? this.liveEvents : `${this.prefix}${kind}`;
  }

  /** The aliases under which an index is read while its generation is live. */
  liveAliases(generation: number, index: string): readonly string[] {
    const month = this.monthOf(generation, index);
    return month === undefined ? [this.liveAlias(generation, index)] : [this.liveMonth(month), this.liveEvents];
  }

  private liveAlias(generation: number, index: string): string {
    const suffix = `-${generation}`;
    return index.endsWith(suffix) ? index.slice(0, -suffix.length) : index;
  }

  private rest(name: string, start: string): string | undefined {
    const whole = this.prefix + start;
    return name.startsWith(whole) ? name.slice(whole.length) : undefined;
  }
}
