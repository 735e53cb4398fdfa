/**
 * Entries by name, at most so many of them. When there is one too many, the half that ranks lowest is taken out, and
 * `drop` gets each of it. The cost of an entry stays constant on average.
 */
export class BoundedEntries<Entry> {
  private readonly entries = new Map<string, Entry>();

  constructor(
    private readonly most: number,
    /** Sorts the entries to keep to the front. */
    private readonly byRank: (one: Entry, other: Entry) => number,
    private readonly drop: (entry: Entry) => void,
  ) {}

  /** The entry of that name, made if there is none. */
  of(name: string, make: () => Entry): Entry {
    const known = this.entries.get(name);
    if (known) return known;
    if (this.entries.size >= this.most) this.dropAfter(Math.floor(this.most / 2));
    const made = make();
    this.entries.set(name, made);
    return made;
  }

  /** The first ones by rank; drops the others. */
  first(count: number): (readonly [string, Entry])[] {
    this.dropAfter(count);
    return this.ranked();
  }

  private dropAfter(count: number): void {
    for (const [name, entry] of this.ranked().slice(count)) {
      this.entries.delete(name);
      this.drop(entry);
    }
  }

  private ranked(): (readonly [string, Entry])[] {
    return [...this.entries].sort(([, one], [, other]) => this.byRank(one, other));
  }
}
