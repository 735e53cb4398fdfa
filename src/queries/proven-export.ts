import { Inject } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { ControlError } from '../contract/errors.js';
import type { Reach } from '../model/access.js';
import { CONFIG, type Config } from '../platform/config/config.js';
import { pause, turnOfTheLoop } from '../platform/waiting.js';
import { isBefore, type Point, partitionName, pointOf } from '../read-model/document.js';
import { READ_MODEL, type ReadModel } from '../read-model/read-model.js';
import { RETENTION, type Retention } from '../read-model/retention.js';
import type { Cursor, Points } from '../read-model/search.js';
import { type RecordPlace, requireSealing, SEALED_HISTORY, type SealedHistory } from '../sealing/history.js';
import { leafHash } from '../tlog/hash.js';
import { SALT_BYTES } from '../tlog/leaf.js';
import { splitNote } from '../tlog/note.js';
import { checkpointLine, leafLine } from '../tlog/sidecar.js';
import { EXPORT_PAGE, type ExportPage } from './audit-export.js';
import { type AuditFilters, type EventTimes, filtersOf, withinReach } from './audit-list.js';
import { ClosedLeaves } from './closed-leaves.js';
import { BEGINNING, Cursors, type Scope } from './cursor.js';
import { type Leaf, Leaves } from './leaves.js';
import { type PublishedLog, publishedLog } from './published-log.js';
import { headProofText } from './tlog.js';

/**
 * As `ExportAuditEvents`, of the events that the published checkpoint covers, with what proves them. It waits a while for a checkpoint
 * of what is there when it begins. Lines: each event's line is
 * followed by the line of its leaf; at the end come the leaves that the caller gets no event for, and the checkpoint. So
 * every leaf of the tree is there once. Throws `not_integrated` before the first checkpoint, and
 * `not_sealed` if nothing is sealed any more.
 */
export class ExportProvenEvents extends Query<AsyncGenerator<ExportPage, void>> {
  constructor(
    readonly org: string,
    readonly filters: AuditFilters,
    /** `reach`: the contexts that the caller may read, when the export begins. */
    readonly options: EventTimes & {
      readonly reach: Reach;
      readonly cursor?: string;
      /** The size of an earlier checkpoint, whose root is to follow from the export as well. */
      readonly pinned?: number;
    },
  ) {
    super();
  }
}

const MOST_TRIES = 3;

interface Export {
  readonly scope: Scope;
  readonly reach: Reach;
  readonly start: Cursor;
  readonly log: PublishedLog;
  /** What the trees cover: at least what the published checkpoint does. */
  readonly covered: Readonly<Record<string, number>>;
  readonly pinned: number | undefined;
  readonly checkpoint: string;
}

@QueryHandler(ExportProvenEvents)
export class ExportProvenEventsHandler implements IQueryHandler<ExportProvenEvents> {
  constructor(
    @Inject(READ_MODEL) private readonly model: ReadModel,
    @Inject(SEALED_HISTORY) private readonly history: SealedHistory,
    @Inject(RETENTION) private readonly retention: Retention,
    @Inject(CONFIG) private readonly config: Pick<Config, 'syncTimeoutMs'>,
    private readonly cursors: Cursors,
  ) {}

  async execute({ org, filters, options }: ExportProvenEvents): Promise<AsyncGenerator<ExportPage, void>> {
    const scope = { org, filters: filtersOf(filters, options), order: 'received' } as const;
    const start = options.cursor === undefined ? BEGINNING : this.cursors.decode(scope, options.cursor);
    requireSealing(this.history);
    await this.untilSealed(org);
    requireSealing(this.history);
    const { log, head } = await this.published(org);
    const number = Number(log.tree);
    const checkpoint = checkpointLine({ note: log.note, number, ...(head !== undefined && { head }) });
    const covered = (await this.history.store.progress())?.next ?? {};
    await this.untilFound(covered);
    const { reach, pinned } = options;
    return this.pages({ scope, reach, start, log, covered, pinned, checkpoint });
  }

  /** Whoever exports what he just published finds it, unless no checkpoint comes in time. */
  private async untilSealed(org: string): Promise<void> {
    const { items } = await this.model.last('auditevent', { org, filters: [], limit: 1 });
    for (const { place } of items) await this.history.sealed(place as RecordPlace, this.config.syncTimeoutMs);
  }

  /** A head proof is of one checkpoint: the next may be published between the two reads. */
  private async published(org: string): Promise<{ log: PublishedLog; head?: string | undefined }> {
    for (let tries = 1; ; tries += 1) {
      const log = await publishedLog(this.history, org);
      const head = await this.history.headProof(Number(log.tree));
      if (head && head.checkpoint === splitNote(log.note).text) return { log, head: headProofText(head) };
      if (tries === MOST_TRIES) return { log };
    }
  }

  /** The trees are made from the log, so they may be ahead of what can be found. */
  private async untilFound(covered: Export['covered']): Promise<void> {
    const deadline = performance.now() + this.config.syncTimeoutMs;
    while (!(await this.isFound(covered))) {
      if (performance.now() > deadline) {
        throw new ControlError(
          'read_model_unavailable',
          'the read model is behind the published checkpoint; try again',
        );
      }
      await pause(20);
    }
    await this.model.refresh();
  }

  private async isFound(covered: Export['covered']): Promise<boolean> {
    const topics = new Set(
      Object.keys(covered).map((name) => name.slice(0, name.lastIndexOf('/')) as Parameters<ReadModel['progress']>[0]),
    );
    for (const topic of topics) {
      const { next } = await this.model.progress(topic);
      const isBehind = ([name, offset]: [string, number]) =>
        name.startsWith(`${topic}/`) && (next[Number(name.slice(topic.length + 1))] ?? 0) < offset;
      if (Object.entries(covered).some(isBehind)) return false;
    }
    return true;
  }

  private async *pages(asked: Export): AsyncGenerator<ExportPage, void> {
    const { scope, log } = asked;
    const leaves = new Leaves(this.history.store, log.tree, log.size, await this.history.orgSecret(scope.org));
    const closed = new ClosedLeaves(log.size, log.nodes, this.reasonOf(asked, leaves), asked.pinned);
    let cursor = '';
    for await (const page of this.events(asked, leaves, closed)) {
      cursor = page.cursor;
      yield page;
      // Neither reading nor a fast client ever waits: other requests would not get a turn until the end.
      await turnOfTheLoop();
    }
    for await (const items of closed.pages(EXPORT_PAGE.limit)) yield { items, count: 0, cursor };
    yield { items: [asked.checkpoint], count: 0, cursor };
  }

  private async *events(asked: Export, leaves: Leaves, closed: ClosedLeaves): AsyncGenerator<ExportPage, void> {
    const { scope, reach, start, log, covered } = asked;
    const filters = withinReach(scope.filters, reach);
    const end = seenBy((await this.model.last('auditevent', { org: scope.org, filters: [], limit: 0 })).cursor);
    const given: Record<string, Point> = { ...seenBy(start) };
    const behind = new Set<string>();
    for (let cursor = start; ; ) {
      const page = await this.model.search('auditevent', { ...scope, filters, ...EXPORT_PAGE, cursor });
      cursor = page.cursor ?? cursor;
      const items: string[] = [];
      for (const event of page.items) {
        const partition = partitionName(event.place);
        const leaf = await leaves.of(event);
        if (leaf === 'later' || (!leaf && event.place.offset >= (covered[partition] ?? 0))) {
          behind.add(partition);
          continue;
        }
        items.push(event.source, lineOf(leaf, log));
        if (leaf) closed.open(leaf.index);
        given[partition] = pointOf(event.place);
      }
      yield { items, count: items.length / 2, cursor: this.cursors.encode(scope, { seen: given }) };
      const seen = seenBy(cursor);
      const isPassed = ([name, last]: [string, Point]) =>
        behind.has(name) || (seen[name] !== undefined && !isBefore(seen[name], last));
      if (!page.more || Object.entries(end).every(isPassed)) return;
    }
  }

  private reasonOf({ scope, reach, start }: Export, leaves: Leaves): ConstructorParameters<typeof ClosedLeaves>[2] {
    if (scope.filters.length > 0 || start !== BEGINNING) return 'filter';
    if (reach !== 'all') return 'context';
    const limit = Math.max(0, ...this.retention.limits('auditevent', scope.org).values());
    let unindexed: Promise<ReadonlySet<number>> | undefined;
    // Whatever is in the log is indexed, a repetition, or a dead letter.
    return async (index) => {
      unindexed ??= this.unindexed(leaves);
      if ((await unindexed).has(index)) return 'unindexed';
      return (await leaves.timeOf(index)) < limit ? 'expired' : 'duplicate';
    };
  }

  private async unindexed(leaves: Leaves): Promise<ReadonlySet<number>> {
    const found = new Set<number>();
    for await (const place of this.history.unindexed()) {
      const index = await leaves.firstOf(place);
      if (index !== undefined) found.add(index);
    }
    return found;
  }
}

function seenBy(cursor: Cursor): Points {
  return 'seen' in cursor ? cursor.seen : {};
}

/** A document whose record has no leaf was not made from the log: it gets a leaf that no tree of this size has. */
function lineOf(leaf: Leaf | undefined, { size }: PublishedLog): string {
  return leaf ? leafLine(leaf.index, leaf.salt, leafHash(leaf.entry)) : leafLine(size, NOTHING, NOTHING);
}

const NOTHING = Buffer.alloc(SALT_BYTES);
