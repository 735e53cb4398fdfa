import { turnOfTheLoop } from '../../platform/waiting.js';
import {
  comparePositions,
  identifierOf,
  isSameContent,
  isSamePartition,
  type Position,
  type StoredDocument,
} from '../../read-model/document.js';
import { KIND_NAMES, type KindName } from '../../read-model/kinds.js';
import type { Generation, ReadModel } from '../../read-model/read-model.js';
import type { Expiry } from '../../read-model/retention.js';
import type { Projection } from '../projection.js';
import { type Findings, findingOf } from './findings.js';
import { type Ends, eachAtOnce } from './pace.js';
import { type Stretch, scanned } from './scan.js';

/**
 * Compared with the new generation, a document of the live one is `missing`, has other content (`altered`), or should not
 * exist (`extra`).
 */
export type GenerationProblem = 'missing' | 'altered' | 'extra';

export interface DifferenceOptions {
  readonly projections: readonly Projection[];
  readonly expiry: Expiry;
  readonly findings: Findings<GenerationProblem>;
  /** How many ranges are read at the same time. */
  readonly atOnce: number;
  readonly signal: AbortSignal;
}

interface Task {
  readonly kind: KindName;
  readonly stretch: Stretch;
}

/** Compares the live generation with one filled from the log, document by document, in the order of the log. */
export class GenerationDifference {
  /** Everything before these ends is compared. */
  private ends: Ends = {};
  compared = 0;

  constructor(
    private readonly live: Pick<ReadModel, 'scan' | 'get'>,
    private readonly next: Pick<Generation, 'scan'>,
    private readonly options: DifferenceOptions,
  ) {}

  get reached(): Ends {
    return this.ends;
  }

  /**
   * Continues to these ends. The new generation contains everything before them, and nothing else; in the live one
   * everything before them is searchable, and it may contain more.
   */
  async to(ends: Ends): Promise<void> {
    await eachAtOnce([...this.tasks(ends)], this.options.atOnce, (task) => this.compare(task));
    this.ends = ends;
  }

  /** The live generation may hold stray documents of kinds that the topic does not have: those are searched once. */
  private *tasks(ends: Ends): Generator<Task> {
    for (const { topic, kinds } of this.options.projections) {
      for (const [name, end] of Object.entries(ends[topic] ?? {})) {
        const partition = Number(name);
        const from = this.ends[topic]?.[partition];
        if ((from ?? 0) >= end) continue;
        const stretch = { topic, partition, from: from ?? 0, to: end };
        for (const kind of from === undefined ? KIND_NAMES : kinds) yield { kind, stretch };
      }
    }
  }

  private async compare({ kind, stretch }: Task): Promise<void> {
    const { signal } = this.options;
    const live = placesOf(scanned(this.live, kind, stretch, signal));
    const next = placesOf(scanned(this.next, kind, stretch, signal));
    let [one, other] = await Promise.all([live.next(), next.next()]);
    let places = 0;
    while (!one.done || !other.done) {
      const order = orderOf(one.value?.[0]?.place, other.value?.[0]?.place);
      await this.atPlace(kind, (order <= 0 && one.value) || [], (order >= 0 && other.value) || [], stretch.to);
      [one, other] = await Promise.all([order <= 0 ? live.next() : one, order >= 0 ? next.next() : other]);
      places += 1;
      if (places % 100 === 0) await turnOfTheLoop();
    }
  }

  private async atPlace(
    kind: KindName,
    live: readonly StoredDocument[],
    next: readonly StoredDocument[],
    end: number,
  ): Promise<void> {
    const left = new Map(live.map((document) => [identifierOf(kind, document), document]));
    for (const document of next) {
      this.compared += 1;
      const key = identifierOf(kind, document);
      const twin = left.get(key);
      left.delete(key);
      if (!twin) await this.absent(kind, document, end);
      else if (twin.misplaced || !isSameContent(twin, document)) this.note('altered', kind, document);
    }
    for (const document of left.values()) this.note('extra', kind, document);
  }

  private async absent(kind: KindName, document: StoredDocument, end: number): Promise<void> {
    if (await this.hasMovedOn(kind, document, end)) return;
    this.note('missing', kind, document);
  }

  /** Whether the live generation has a newer state of the same document by now. */
  private async hasMovedOn(kind: KindName, { org, id, place }: StoredDocument, end: number): Promise<boolean> {
    try {
      const found = (await this.live.get(kind, org, id))?.place;
      return found !== undefined && isSamePartition(found, place) && found.offset >= end;
    } catch {
      // It is stored, but cannot be read.
      return false;
    }
  }

  private note(problem: GenerationProblem, kind: KindName, document: StoredDocument): void {
    const { expiry, findings } = this.options;
    if (!expiry.has(kind, document)) findings.add(findingOf(problem, kind, document));
  }
}

/** The documents of each position. */
async function* placesOf(pages: AsyncIterable<readonly StoredDocument[]>): AsyncGenerator<StoredDocument[]> {
  let group: StoredDocument[] = [];
  for await (const page of pages) {
    for (const document of page) {
      if (group[0] && orderOf(group[0].place, document.place) !== 0) {
        yield group;
        group = [];
      }
      group.push(document);
    }
  }
  if (group.length > 0) yield group;
}

/** The order of positions in one partition; `undefined` comes last. */
function orderOf(one: Position | undefined, other: Position | undefined): number {
  if (!one || !other) return Number(!one) - Number(!other);
  return comparePositions(one, other);
}
