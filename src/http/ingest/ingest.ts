import { Inject, Injectable } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import type { FastifyRequest } from 'fastify';
import { Acknowledgements, type Published, type PublishMode } from '../../commands/acknowledgements.js';
import { PublishAuditEvents } from '../../commands/audit-publish.js';
import { ControlError } from '../../contract/errors.js';
import { CLOCK, type Clock } from '../../platform/clock.js';
import { Turns } from '../../platform/turns.js';
import { publicationOf, standingOf } from '../caller.js';
import { checkIdempotencyKey } from '../errors/request-faults.js';
import { BatchReader, type Line } from './batch.js';
import type { Candidate } from './candidate.js';

/** What became of the lines of a request. A line is counted once, however many events keep it. */
export interface IngestResult {
  readonly lines: number;
  readonly recorded: number;
  /** Lines whose events were recorded before; not known if nobody waits. */
  readonly repeated?: number;
  /** Of the recorded: those that no event could be made of, kept as they came. */
  readonly unmapped: number;
  readonly firstUnmapped: readonly Unmapped[];
}

interface Unmapped {
  readonly line: number;
  readonly reason: string;
}

const NAMED_UNMAPPED = 10;

/** Records whatever was sent to become events. */
@Injectable()
export class Ingest {
  constructor(
    private readonly commands: CommandBus,
    private readonly acknowledgements: Acknowledgements,
    private readonly turns: Turns,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Records every candidate, in order: as the event that it is, or as it came. Resolves when all are durable, in sync mode
   * when they are searchable or the wait ran out. Throws if some may not be recorded: what has a key can be sent again.
   */
  async record(request: FastifyRequest, candidates: readonly Candidate[], mode: PublishMode): Promise<IngestResult> {
    const { contextName } = request.params as { readonly contextName: string };
    const { log } = request;
    const reader = new BatchReader({ contextName, batchKey: checkIdempotencyKey(request), now: this.clock.now(), log });
    const from = { ...publicationOf(request), contextName };
    const tallies: Promise<Tally>[] = [];
    for (let at = 0; at < candidates.length; ) {
      const batch = await this.turns.run({ org: from.org }, reader.read(candidates, at));
      const items = batch.flatMap((line) => line.items);
      const how = mode === 'sync' ? 'later' : mode;
      const publishing = this.commands.execute(new PublishAuditEvents(items, how, from, standingOf(request)));
      const published = await publishing.catch((error) => Promise.reject(refusal(error, at, candidates.length)));
      const failed = published.find((one) => 'error' in one);
      if (failed) throw refusal(failed.error, at, candidates.length);
      tallies.push(this.tally(batch, published));
      at += batch.length;
    }
    return resultOf(await Promise.all(tallies), mode);
  }

  /** What is made searchable is waited for while the next batch is read and appended. */
  private async tally(batch: readonly Line[], published: Published[]): Promise<Tally> {
    const appended = published.flatMap((one) => ('error' in one || !one.appended ? [] : [one.appended]));
    const ends = (appended.length > 0 ? await this.acknowledgements.of(appended) : published).values();
    // What cannot be indexed is recorded: it is for the operator, and the sender can do nothing about it.
    const isNew = batch.map(({ items }) => items.map(() => !isRepetition(ends.next().value)).includes(true));
    const news = batch.filter((_, index) => isNew[index]);
    const unmapped = news.flatMap(({ line, reason }) => (reason === undefined ? [] : [{ line, reason }]));
    return {
      lines: batch.length,
      recorded: news.length,
      unmapped: unmapped.length,
      first: unmapped.slice(0, NAMED_UNMAPPED),
    };
  }
}

interface Tally {
  readonly lines: number;
  readonly recorded: number;
  readonly unmapped: number;
  readonly first: readonly Unmapped[];
}

function isRepetition(one: Published | undefined): boolean {
  return one !== undefined && 'isRepetition' in one;
}

function resultOf(tallies: readonly Tally[], mode: PublishMode): IngestResult {
  const sum = (name: 'lines' | 'recorded' | 'unmapped') => tallies.reduce((all, tally) => all + tally[name], 0);
  const [lines, recorded] = [sum('lines'), sum('recorded')];
  return {
    lines,
    recorded,
    ...(mode === 'sync' && { repeated: lines - recorded }),
    unmapped: sum('unmapped'),
    firstUnmapped: tallies.flatMap(({ first }) => first).slice(0, NAMED_UNMAPPED),
  };
}

/**
 * The refusal of a request of which so many lines are recorded. Whoever reads the status alone drops what is refused with
 * 4xx: once something is recorded, it is 503.
 */
function refusal(error: unknown, recorded: number, lines: number): unknown {
  if (!(error instanceof ControlError)) return error;
  if (recorded === 0 && error.code !== 'outcome_unknown') return error;
  const message = `${recorded} of ${lines} lines are recorded, the others may not be (${error.message}); send the same body again: lines with keys are not recorded twice`;
  return new ControlError('outcome_unknown', message, { recorded, lines }, { cause: error });
}
