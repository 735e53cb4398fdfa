import { KIND_NAMES, KINDS, type KindName } from '../kinds.js';

/** Kinds with many documents, which are only created: one index a month. The other kinds have one index. */
export function isMonthly(kind: KindName): boolean {
  return KINDS[kind].received;
}

export const SINGLE_KINDS: readonly KindName[] = KIND_NAMES.filter((kind) => !isMonthly(kind));

/**
 * The names of all indices and aliases, made only from the operator's prefix, kinds, generation numbers and months.
 *
 * Each index has the number of its generation in its name, and is written through an alias of its own. Requests require an
 * alias, so Elasticsearch never creates an index in place of a missing one. Reads use the aliases of the live generation,
 * whose names never change.
 */
export class Names {
  private last = { generation: 0, month: '', name: '' };

  constructor(private readonly prefix: string) {}

  /** The progress of a generation; its aliases show whether it is live. */
  progress(generation: number): string {
    return `${this.prefix}progress-${generation}`;
  }

  months(generation: number): string {
    return `${this.prefix}audit-events-${generation}-*`;
  }

  month(generation: number, month: string): string {
    // Consecutive documents are mostly of one month.
    if (month !== this.last.month || generation !== this.last.generation) {
      this.last = { generation, month, name: `${this.prefix}audit-events-${generation}-${month}` };
    }
    return this.last.name;
  }

  /** Pointers to events without a month in their identifiers. */
  keys(generation: number): string {
    return `${this.prefix}audit-keys-${generation}`;
  }

  kind(generation: number, kind: KindName): string {
    return `${this.prefix}${kind}-${generation}`;
  }

  /** All indices of the generation but its months and its progress. */
  fixed(generation: number): readonly string[] {
    return [this.keys(generation), ...SINGLE_KINDS.map((kind) => this.kind(generation, kind))];
  }

  /** All documents of a kind in a generation. */
  documents(generation: number, kind: KindName): string {
    return isMonthly(kind) ? this.months(generation) : this.kind(generation, kind);
  }

  /** Pattern of all indices of all generations. It may match others too: check with `generationIn`. */
  get every(): string {
    return `${this.prefix}*`;
  }

  get everyProgress(): string {
    return `${this.prefix}progress-*`;
  }

  /** Pattern of all indices of a generation. It may match others too. */
  everyOf(generation: number): string {
    return `${this.prefix}*-${generation}*`;
  }

  /** The generation of an index; undefined if it is not this service's. Another service's prefix may begin with this one's. */
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

  /** The write alias of an index. Of the progress: removed while the generation is sealed. */
  writer(index: string): string {
    return `${this.prefix}write-${index.slice(this.prefix.length)}`;
  }

  /** The progress is written through this alias, sealed or not. */
  keeper(generation: number): string {
    return `${this.prefix}keep-${generation}`;
  }

  /** On the progress index of a generation that is being built. */
  get building(): string {
    return `${this.prefix}building`;
  }

  /** On the progress index of a live generation that lacks records that the log had when it was created. */
  get filling(): string {
    return `${this.prefix}filling`;
  }

  /** On the progress index while its generation is sealed, in place of the write alias. */
  seal(generation: number, until: number, token: string): string {
    return `${this.prefix}sealed-${generation}-${until}-${token}`;
  }

  /** When the seal of an alias lapses; undefined for another alias. */
  sealedUntil(generation: number, alias: string): number | undefined {
    const seal = this.rest(alias, `sealed-${generation}-`);
    return seal === undefined ? undefined : Number(seal.split('-', 1)[0]);
  }

  /** On the progress index while a process drops a month. */
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

  /** The aliases through which an index is read while its generation is live. */
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
