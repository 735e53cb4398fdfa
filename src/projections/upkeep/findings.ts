import type { Topic } from '../../event-log/event-log.js';
import type { Position } from '../../read-model/document.js';
import type { KindName } from '../../read-model/kinds.js';

/** A document that is not as it should be, by the place in the log that it comes from, or says it comes from. */
export interface Finding<Problem extends string = string> {
  readonly problem: Problem;
  readonly itemKind: KindName;
  readonly org: string;
  readonly id: string;
  readonly topic: Topic;
  readonly partition: number;
  readonly offset: number;
}

export type Counts<Problem extends string> = Readonly<Record<Problem, number>>;

/** Counts all findings, and keeps the first of them. */
export class Findings<Problem extends string, One extends Finding<Problem> = Finding<Problem>> {
  private readonly counts: Record<Problem, number>;
  private readonly kept: One[] = [];

  constructor(
    problems: readonly Problem[],
    private readonly most: number,
  ) {
    this.counts = Object.fromEntries(problems.map((problem) => [problem, 0])) as Record<Problem, number>;
  }

  /** Answers whether it is among those that are kept. */
  add(finding: One): boolean {
    this.counts[finding.problem] += 1;
    if (this.kept.length >= this.most) return false;
    this.kept.push(finding);
    return true;
  }

  get total(): number {
    return Object.values<number>(this.counts).reduce((sum, count) => sum + count, 0);
  }

  /** `omitted`: how many more there are than `items` names. */
  get report(): { differences: Counts<Problem>; items: readonly One[]; omitted: number } {
    return { differences: { ...this.counts }, items: [...this.kept], omitted: this.total - this.kept.length };
  }
}

export function findingOf<Problem extends string>(
  problem: Problem,
  itemKind: KindName,
  { org, id, place }: { readonly org: string; readonly id: string; readonly place: Position },
): Finding<Problem> {
  return { problem, itemKind, org, id, topic: place.topic, partition: place.partition, offset: place.offset };
}
