import type { Logger } from 'pino';
import type { EventLog } from '../../event-log/event-log.js';
import type { NextGeneration, ReadModel } from '../../read-model/read-model.js';
import { Expiry, type Retention } from '../../read-model/retention.js';
import type { Projection } from '../projection.js';
import { GenerationDifference, type GenerationProblem } from './difference.js';
import { GenerationFill } from './fill.js';
import { type Counts, type Finding, Findings } from './findings.js';
import { distance, type Ends, indexedEnds, paceOf, patiently, type Tell } from './pace.js';

export interface RebuildParts {
  readonly log: EventLog;
  readonly model: ReadModel;
  readonly projections: readonly Projection[];
  readonly retention: Retention;
  readonly logger: Logger;
  /** How long a seal lasts; by default `LEASE_MS`. */
  readonly leaseMs?: number;
}

export interface RebuildReport {
  readonly kind: 'rebuild';
  /** The number of the generation that is live now. */
  readonly generation: number;
  /** Records of the log that it was filled from. */
  readonly records: number;
  /** The unreadable ones among them; their dead letters have the reasons. */
  readonly unreadable: number;
  /** Documents that were compared with those of the generation before. */
  readonly compared: number;
  /** Differences of the earlier generation from the log. */
  readonly differences: Counts<GenerationProblem>;
  readonly items: readonly Finding<GenerationProblem>[];
  readonly omitted: number;
}

const LEASE_MS = 10_000;
/** How many records may be left to apply under the seal: few enough to take a fraction of the lease. */
const NEAR = 1_000;
/** How often to catch up before the seal, while writers keep adding records. */
const MOST_ROUNDS = 50;
const MOST_SEALS = 5;
const NAMED = 100;

/**
 * Fills a new generation from the beginning of the log while the live one serves and is written to, compares the two, and
 * replaces the live one. Differences of the live one are reported and do not stop the rebuild, because the log is the truth.
 * Rejects, and changes nothing, if it fails, if the signal aborts, or if the new generation lacks a document applied to it.
 */
export async function rebuild(parts: RebuildParts, tell: Tell, signal: AbortSignal): Promise<RebuildReport> {
  const next = await parts.model.begin();
  try {
    return await new Rebuild(parts, next, tell, signal).run();
  } catch (error) {
    // Discarding a generation that was promoted after all has no effect.
    await next.discard().catch((err: unknown) => parts.logger.warn({ err }, 'the new generation was not removed'));
    throw error;
  }
}

class Rebuild {
  private readonly findings = new Findings<GenerationProblem>(['missing', 'altered', 'extra'], NAMED);
  private readonly fill: GenerationFill;
  private readonly difference: GenerationDifference;
  private phase = 'filling';
  private total = 0;

  constructor(
    private readonly parts: RebuildParts,
    private readonly next: NextGeneration,
    private readonly tell: Tell,
    private readonly signal: AbortSignal,
  ) {
    const { log, model, projections, retention } = parts;
    const expiry = new Expiry(retention);
    const { slice, atOnce } = paceOf(model);
    this.fill = new GenerationFill(log, next, projections, expiry, { slice, signal, moved: () => this.told() });
    this.difference = new GenerationDifference(model, next, {
      projections,
      expiry,
      findings: this.findings,
      atOnce,
      signal,
    });
  }

  async run(): Promise<RebuildReport> {
    const { generation } = await this.next.progress('audit');
    await this.approach();
    await this.cutOver(generation);
    const { records, unreadable } = this.fill;
    const { compared } = this.difference;
    const report = { kind: 'rebuild', generation, records, unreadable, compared, ...this.findings.report } as const;
    this.parts.logger.info({ ...report, items: undefined }, 'the read model was rebuilt');
    for (const item of report.items) this.parts.logger.warn(item, 'the earlier generation differed from the log');
    return report;
  }

  /** Fills and compares until few records are left. */
  private async approach(): Promise<void> {
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const ends = await this.liveEnds();
      if (round > 0 && distance(this.difference.reached, ends) <= NEAR) return;
      await this.carryTo(ends);
    }
  }

  private liveEnds(): Promise<Ends> {
    const { projections, model } = this.parts;
    return indexedEnds(
      model,
      projections.map(({ topic }) => topic),
      this.signal,
    );
  }

  /** Fills and compares everything before these ends. */
  private async carryTo(ends: Ends): Promise<void> {
    this.total = this.fill.records + distance(this.fill.reached, ends);
    this.phase = 'filling';
    await this.fill.to(ends);
    this.phase = 'comparing';
    this.told();
    await patiently(this.signal, () => this.parts.model.refresh());
    await this.difference.to(ends);
  }

  private async cutOver(generation: number): Promise<void> {
    const { leaseMs = LEASE_MS, logger } = this.parts;
    for (let attempt = 1; attempt <= MOST_SEALS; attempt += 1) {
      const ends = await patiently(this.signal, () => this.next.seal(leaseMs));
      await this.carryTo(ends);
      this.signal.throwIfAborted();
      if (await this.promoted(generation)) return;
      logger.warn({ attempt, leaseMs }, 'the seal lapsed before the new generation was complete; trying again');
      await this.approach();
    }
    throw new Error(`the new generation did not get complete within ${leaseMs} ms, ${MOST_SEALS} times`);
  }

  /** Whether the new generation is live, even if the call failed. */
  private async promoted(generation: number): Promise<boolean> {
    try {
      await this.next.promote();
      return true;
    } catch (err) {
      const live = await patiently(this.signal, () => this.parts.model.progress('audit'));
      this.parts.logger.warn({ err, live: live.generation }, 'the promotion failed');
      return live.generation === generation;
    }
  }

  private told(): void {
    this.tell(this.phase, this.fill.records, this.total);
  }
}
