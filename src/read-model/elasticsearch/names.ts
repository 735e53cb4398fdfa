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
 * alias, so Elasticsearch never creates an index in place of a missing one. Reads name the indices of the generation that
 * they read, so no read sees two.
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

  /** The state of the jobs, whatever the generation. */
  get jobs(): string {
    return `${this.prefix}jobs`;
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

  /** On the progress index while its generation is sealed, in place of the write alias. */
  seal(generation: number, until: number, token: string): string {
    return `${this.prefix}sealed-${generation}-${until}-${token}`;
  }

  /** A seal that has lapsed already, in place of a write alias that was lost. */
  lapsedSeal(generation: number): string {
    return this.seal(generation, 0, 'lost');
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

  /** On the progress index of the live generation, and on no other. */
  get liveProgress(): string {
    return `${this.prefix}progress`;
  }

  private rest(name: string, start: string): string | undefined {
    const whole = this.prefix + start;
    return name.startsWith(whole) ? name.slice(whole.length) : undefined;
  }
}
