import type { Logger } from 'pino';
import type { Topic } from '../../event-log/event-log.js';
import type { Position } from '../../read-model/document.js';
import type { KindName } from '../../read-model/kinds.js';

/** A document that differs from the log, with the position that it has, or should have. */
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

/** Counts all findings, and keeps the first ones. */
export class Findings<Problem extends string, One extends Finding<Problem> = Finding<Problem>> {
  private readonly counts: Record<Problem, number>;
  private readonly kept: One[] = [];

  constructor(
    problems: readonly Problem[],
    private readonly most: number,
  ) {
    this.counts = Object.fromEntries(problems.map((problem) => [problem, 0])) as Record<Problem, number>;
  }

  /** Returns whether the finding is kept. */
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

/**
 * - `missing`: the log has it, the read model has not.
 * - `altered`: it is stored with other content or with another position.
 * - `misplaced`: it is stored correctly, but where reads do not look for it, or twice.
 * - `extra`: the read model has it, the log has not.
 */
export type Problem = 'missing' | 'altered' | 'extra' | 'misplaced';
const PROBLEMS: readonly Problem[] = ['missing', 'altered', 'extra', 'misplaced'];

interface Difference extends Finding<Problem> {
  readonly repaired: boolean;
}

export interface ReconciliationReport {
  readonly kind: 'reconciliation';
  /** Documents of the log that were looked up. */
  readonly compared: number;
  readonly differences: Counts<Problem>;
  /** How many of the differences were repaired. */
  readonly repaired: number;
  readonly items: readonly Difference[];
  /** How many more differences there are than `items` names. */
  readonly omitted: number;
}

const NAMED = 1_000;

/** Collects the differences that a reconciliation finds, and repairs them if asked to. */
export class Differences {
  private readonly findings = new Findings<Problem, Difference>(PROBLEMS, NAMED);
  private repaired = 0;

  constructor(
    /** Whether to repair. */
    readonly repairs: boolean,
    private readonly logger: Logger,
  ) {}

  /** Counts a document once it is repaired, or at once if nothing is to be repaired. */
  async note(
    problem: Problem,
    kind: KindName,
    document: { readonly org: string; readonly id: string; readonly place: Position },
    repair: () => Promise<void>,
  ): Promise<void> {
    if (this.repairs) {
      await repair();
      this.repaired += 1;
    }
    const finding = { ...findingOf(problem, kind, document), repaired: this.repairs };
    if (this.findings.add(finding)) this.logger.warn(finding, 'a document of the read model differs from the log');
  }

  report(compared: number): ReconciliationReport {
    return { kind: 'reconciliation', compared, repaired: this.repaired, ...this.findings.report };
  }
}
