import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { emptyFold, readFold } from '../../src/control/fold.js';
import { controlEntry } from '../../src/control/record.js';
import { auditEntry } from '../../src/event-log/audit-record.js';
import { EmbeddedEventLog } from '../../src/event-log/embedded/event-log.js';
import type { EventLog, LogEntry, Topic } from '../../src/event-log/event-log.js';
import { recordedEvent, type SentAuditEvent } from '../../src/model/audit-event.js';
import type { ControlEvent } from '../../src/model/control-events.js';
import { decideCreateOrg } from '../../src/model/org.js';
import { type Clock, systemClock } from '../../src/platform/clock.js';
import { Metrics } from '../../src/platform/metrics.js';
import { InProcessProgressFeed } from '../../src/progress/progress-feed.js';
import { auditProjection } from '../../src/projections/audit.js';
import { controlProjection } from '../../src/projections/control.js';
import { ProjectionRunner } from '../../src/projections/projection-runner.js';
import { EmbeddedReadModel } from '../../src/read-model/embedded/read-model.js';
import type { ReadModel } from '../../src/read-model/read-model.js';
import { SetRetention } from '../contract/read-model.harness.js';
import { PATIENCE } from './patience.js';
import { addFunctions } from './stored-sql.js';

const AT = '2026-01-02T03:04:05.678Z';
const BY = { name: 'root', requestId: 'request-1', remoteIp: '192.0.2.1' };

const PROJECTIONS = [auditProjection, controlProjection];

export interface Keyed {
  /** In place of an identifier of its own. */
  readonly id?: string;
  /** Of the body that came with an Idempotency-Key. */
  readonly hash?: string;
  readonly context?: string;
}

/** A log, a read model and the projections between them, without the rest of the service. */
export class TestStore {
  readonly logger = pino({ level: 'silent' });
  private made = 0;
  private stop = new AbortController();
  private running: Promise<unknown> = Promise.resolve();

  constructor(
    readonly log: EventLog,
    public model: ReadModel,
    readonly retention: SetRetention,
    readonly clock: Clock = systemClock,
    private readonly ids: (n: number) => string = (n) => `${String(n).padStart(8, '0')}-0000-7000-8000-000000000000`,
  ) {}

  /** Everything that the jobs on a read model are made of. */
  get parts() {
    const { log, model, retention, clock, logger } = this;
    return { log, model, projections: PROJECTIONS, retention, clock, logger };
  }

  event(name: string, { id, hash, context = 'app' }: Keyed = {}, sent: Partial<SentAuditEvent> = {}): LogEntry {
    this.made += 1;
    const publication = {
      id: id ?? this.ids(this.made),
      postedTime: AT,
      org: 'acme',
      contextName: context,
      remoteIp: '::1',
      requestId: `r${this.made}`,
      publisher: { link: '/org/acme/serviceaccount/admin', keyId: 'key-1', remoteIp: '::1' },
      subject: { name: 'admin' },
    };
    const event = recordedEvent({ resource: { name }, ...sent }, publication);
    return auditEntry(event, hash === undefined ? {} : { hash });
  }

  async publish(count: number, name = 'db'): Promise<void> {
    await this.log.append(Array.from({ length: count }, (_, n) => this.event(`${name}-${n}`)));
  }

  /** A record of `audit` that can never be indexed. */
  unreadable(): LogEntry {
    return { topic: 'audit', key: 'k', headers: { v: '99' }, value: Buffer.from('{}') };
  }

  async createOrg(name: string): Promise<void> {
    const command = {
      name,
      description: name,
      tags: {},
      at: AT,
      keyHash: `${name}-hash`,
      id: (n: number) => `${name}-${n}`,
      granter: null,
    };
    await this.control(name, decideCreateOrg(readFold(emptyFold()), command));
  }

  /** A view that changes with every call. */
  async setRetention(name: string, version: number): Promise<void> {
    const data = {
      id: name,
      ...{ org: 'acme', name, retentionDays: 1_000 + version, hiddenBefore: 0, version },
      ...{ created: AT, lastModified: AT },
    };
    const auditId = `${name}-set-${version}`;
    await this.control(auditId, [{ type: 'auditctx-retention-set', stream: `auditctx/acme/${name}`, auditId, data }]);
  }

  private async control(commandId: string, events: readonly ControlEvent[]): Promise<void> {
    await this.log.append([controlEntry({ commandId, at: AT, by: BY, expected: {}, events })]);
  }

  /** Resolves when everything in the log is in the read model. */
  async settled(): Promise<void> {
    const behind = async (topic: Topic) => {
      const [head, { next }] = [await this.log.head(topic), await this.model.progress(topic)];
      return Object.entries(head).some(([partition, end]) => (next[Number(partition)] ?? 0) < end);
    };
    for (
      const deadline = Date.now() + 20_000 * PATIENCE;
      (await behind('audit')) || (await behind('control'));
      await delay(5)
    ) {
      if (Date.now() > deadline) throw new Error('the projections do not get on');
    }
  }

  /** Ends the projections. */
  async halt(): Promise<void> {
    this.stop.abort();
    await this.running;
  }

  start(): void {
    this.stop = new AbortController();
    const { log, model, logger } = this;
    const feed = new InProcessProgressFeed();
    const runners = PROJECTIONS.map((one) => new ProjectionRunner(log, model, feed, one, new Metrics(), logger));
    this.running = Promise.all(runners.map((runner) => runner.run(this.stop.signal)));
  }
}

/** On the embedded store, in a folder of its own. */
export class EmbeddedTestStore extends TestStore {
  private constructor(
    private readonly folder: string,
    override readonly log: EmbeddedEventLog,
    override model: EmbeddedReadModel,
    retention: SetRetention,
    /** In place of the time that it is. */
    readonly now: { ms: number | undefined },
    clock: Clock,
  ) {
    super(log, model, retention, clock);
  }

  /** With its projections running. */
  static async open(partitions = 1): Promise<EmbeddedTestStore> {
    const folder = mkdtempSync(join(tmpdir(), 'test-store-'));
    const now: EmbeddedTestStore['now'] = { ms: undefined };
    const clock = { now: () => now.ms ?? Date.now() };
    const retention = new SetRetention();
    const log = await EmbeddedEventLog.open({ file: join(folder, 'log.db'), partitions: { audit: partitions }, clock });
    const model = await openModel(folder, log, retention);
    const store = new EmbeddedTestStore(folder, log, model, retention, now, clock);
    store.start();
    return store;
  }

  /** Writes into the read model's file while nobody has it open. */
  async tamper(work: (db: DatabaseSync) => void): Promise<void> {
    await this.halt();
    await this.model.close();
    const db = new DatabaseSync(join(this.folder, 'read-model.db'));
    addFunctions(db);
    try {
      work(db);
    } finally {
      db.close();
    }
    this.model = await openModel(this.folder, this.log, this.retention);
    this.start();
  }

  /** The names of the read model's files, but for what SQLite keeps beside them. */
  get files(): string[] {
    return readdirSync(this.folder).filter((name) => /^read-model.*(?<!-wal|-shm)$/.test(name));
  }

  async remove(): Promise<void> {
    await this.halt();
    await this.model.close();
    await this.log.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function openModel(folder: string, log: EmbeddedEventLog, retention: SetRetention): Promise<EmbeddedReadModel> {
  return EmbeddedReadModel.open({ file: join(folder, 'read-model.db'), logId: log.id, records: log, retention });
}

/** Counts the turns of the event loop. */
export function countTurns(): { readonly count: number; stop(): void } {
  let count = 0;
  let next = setImmediate(tick);
  function tick(): void {
    count += 1;
    next = setImmediate(tick);
  }
  return {
    get count() {
      return count;
    },
    stop: () => clearImmediate(next),
  };
}
