import type { Logger } from 'pino';
import type { Position } from '../../read-model/document.js';
import type { KindName } from '../../read-model/kinds.js';
import { type Counts, type Finding, Findings, findingOf } from './findings.js';

/**
 * - `missing`: the log has it, the read model has not.
 * - `altered`: it is there with another content, or says it comes from another place.
 * - `misplaced`: it is there as it should be, but where reads do not look for it, or once more beside itself.
 * - `extra`: the read model has it, the log has not.
 */
export type Problem = 'missing' | 'altered' | 'extra' | 'misplaced';
const PROBLEMS: readonly Problem[] = ['missing', 'altered', 'extra', 'misplaced'];

interface Difference extends Finding<Problem> {
  readonly repaired: boolean;
}

export interface ReconciliationReport {
  readonly kind: 'reconciliation';
  /** Documents that the log tells of, and that were looked for. */
  readonly compared: number;
  readonly differences: Counts<Problem>;
  /** How many of the differences are no more. */
  readonly repaired: number;
  readonly items: readonly Difference[];
  /** How many more differences there are than `items` names. */
  readonly omitted: number;
}

const NAMED = 1_000;

/** Collects what a reconciliation finds, and repairs it where that is asked for. */
export class Differences {
  private readonly findings = new Findings<Problem, Difference>(PROBLEMS, NAMED);
  private repaired = 0;

  constructor(
    /** Whether to repair. */
    readonly repairs: boolean,
    private readonly logger: Logger,
  ) {}

  /** Counts a document once it is repaired, or at once where nothing is to be. */
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
    if (this.findings.add(finding)) this.logger.warn(finding, 'a document of the read model is not as the log says');
  }

  report(compared: number): ReconciliationReport {
    return { kind: 'reconciliation', compared, repaired: this.repaired, ...this.findings.report };
  }
}
