import { randomUUID } from 'node:crypto';
import type { Consumer, EventLog, LogRecord, Topic } from '../../src/event-log/event-log.js';
import type { Write } from '../../src/read-model/document.js';
import type { ReadModel } from '../../src/read-model/read-model.js';
import { Bare, cpuEach, entriesOf, logger, Topics } from './cluster-store.ts';
import { type Options, Rounds, say } from './figures.ts';
import { built } from './server.ts';

const EVENTS = 96_000;
const RESOURCES = 4_096;
/** How many are put into the log at once. */
const FILL = 500;
/** Until the compiler has seen enough. */
const WARM_UPS = 2;
const REFRESH_MS = 1_000;

const { auditProjection } = await built<typeof import('../../src/projections/audit.js')>('projections/audit.js');
const { ProjectionRunner } = await built<typeof import('../../src/projections/projection-runner.js')>(
  'projections/projection-runner.js',
);
const { LogProgressFeed } = await built<typeof import('../../src/progress/log-feed.js')>('progress/log-feed.js');
const { systemClock } = await built<typeof import('../../src/platform/clock.js')>('platform/clock.js');
const { LogClock } = await built<typeof import('../../src/platform/log-clock.js')>('platform/log-clock.js');
const { ServiceSecret } =
  await built<typeof import('../../src/platform/service-secret.js')>('platform/service-secret.js');
const { Metrics } = await built<typeof import('../../src/platform/metrics.js')>('platform/metrics.js');
const { ElasticsearchReadModel } = await built<typeof import('../../src/read-model/elasticsearch/read-model.js')>(
  'read-model/elasticsearch/read-model.js',
);
const { sourceText } = await built<typeof import('../../src/read-model/document.js')>('read-model/document.js');
const { documentIndex } = await built<typeof import('../../src/read-model/elasticsearch/mapping.js')>(
  'read-model/elasticsearch/mapping.js',
);
const { documentId, bodyOf } = await built<typeof import('../../src/read-model/elasticsearch/document.js')>(
  'read-model/elasticsearch/document.js',
);

/** What one partition holds: the first document is there before, so that its month is, too. */
interface Lot {
  readonly partition: number;
  readonly first: Write;
  readonly firstBody: Uint8Array;
  /** Where the partition ends. */
  readonly end: number;
  /** Bodies of `_bulk`. */
  readonly bodies: readonly Uint8Array[];
}

/** Until all is searchable. */
interface Measured {
  readonly ms: number;
  readonly cpu: NodeJS.CpuUsage;
}

/** The same events from Kafka into Elasticsearch through the projector, and as bare bulks, in turns. */
export async function measureProjector(brokers: readonly string[], url: string, { rounds }: Options): Promise<Rounds> {
  const topics = new Topics(brokers);
  const log = await topics.open();
  const bare = new Bare(url);
  try {
    await fill(log);
    const lots = await lotsOf(log);
    const count = EVENTS - lots.length;
    const perSecond = ({ ms, cpu }: Measured, name: string, label: string) => {
      const rate = (count * 1000) / ms;
      say(`${label}: ${name.padEnd(9)} ${rate.toFixed(0).padStart(6)} events/s, ${cpuEach(cpu, count)}`);
      return rate;
    };
    const both = async (label: string) => {
      const replayed = perSecond(await replay(bare, lots), '_bulk', label);
      const projected = perSecond(await project(log, url, bare, lots), 'projector', label);
      return projected / replayed;
    };
    for (let warmUp = 1; warmUp <= WARM_UPS; warmUp += 1) await both('warm-up');
    const ratios = new Rounds();
    for (let round = 1; round <= rounds; round += 1)
      ratios.add([['projector-over-bulk', await both(`round ${round}`)]]);
    return ratios;
  } finally {
    bare.close();
    await log.close();
    await topics.remove();
  }
}

async function fill(log: EventLog): Promise<void> {
  const entries = await entriesOf(EVENTS, RESOURCES);
  for (let start = 0; start < entries.length; start += FILL) await log.append(entries.slice(start, start + FILL));
}

/** The documents that the projection makes of the log, put together beforehand: a bulk for each batch of the log. */
async function lotsOf(log: EventLog): Promise<Lot[]> {
  const batches = new Map<number, (readonly LogRecord[])[]>();
  const stop = new AbortController();
  let left = EVENTS;
  for await (const batch of log.read('audit', {}, stop.signal)) {
    batches.set(batch.partition, [...(batches.get(batch.partition) ?? []), batch.records]);
    left -= batch.records.length;
    if (left === 0) stop.abort();
  }
  const toWrites = auditProjection.start();
  return [...batches].map(([partition, own]) => {
    const [[first, ...rest] = [], ...others] = own.map((records) => records.flatMap((record) => toWrites(record)));
    if (!first) throw new Error(`partition ${partition} is empty`);
    const bodies = [rest, ...others].filter(({ length }) => length > 0).map(creations);
    return { partition, first, firstBody: creations([first]), end: (own.at(-1)?.at(-1)?.offset ?? 0) + 1, bodies };
  });
}

/** In lines of JSON, as everybody can send them: the form that the read model gives them is its own merit. */
function creations(writes: readonly Write[]): Uint8Array {
  const lines = writes.flatMap((write) => [
    { create: { _id: documentId(write.org, write.id) } },
    { ...bodyOf(write), ...(write.op !== 'delete' && { source: sourceText(write) }) },
  ]);
  return Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

function startWatch(): () => Measured {
  const start = performance.now();
  const cpu = process.cpuUsage();
  return () => ({ ms: performance.now() - start, cpu: process.cpuUsage(cpu) });
}

const newPrefix = () => `bench-${randomUUID().slice(0, 13)}-`;

/** One sender a partition, as the projector has. */
async function replay(bare: Bare, lots: readonly Lot[]): Promise<Measured> {
  const index = `${newPrefix()}bare`;
  const mapping = JSON.stringify(documentIndex('auditevent', { shards: 1, replicas: 0 }));
  await bare.ask('PUT', `/${index}?wait_for_active_shards=1`, mapping);
  try {
    for (const { firstBody } of lots) await send(bare, index, firstBody);
    const watch = startWatch();
    const refresh = () => bare.ask('POST', `/${index}/_refresh`);
    const refreshing = setInterval(refresh, REFRESH_MS);
    const senders = lots.map(async ({ bodies }) => {
      for (const body of bodies) await send(bare, index, body);
    });
    await Promise.all(senders).finally(() => clearInterval(refreshing));
    await refresh();
    return watch();
  } finally {
    await bare.remove(index);
  }
}

async function send(bare: Bare, index: string, body: Uint8Array): Promise<void> {
  const answer = await bare.ask('POST', `/${index}/_bulk?filter_path=errors`, body, 'application/x-ndjson');
  if (answer !== '{"errors":false}') throw new Error(`a bulk was answered with ${answer}`);
}

/** From the moment the projector has its partitions. */
async function project(log: EventLog, url: string, bare: Bare, lots: readonly Lot[]): Promise<Measured> {
  const indexPrefix = newPrefix();
  const options = { nodes: [url], indexPrefix, logId: log.id, replicas: 0, logger };
  const model = await ElasticsearchReadModel.open(options);
  const stop = new AbortController();
  try {
    await model.progress('audit');
    const firsts = lots.map(({ first }) => first);
    await model.apply(
      'audit',
      firsts,
      Object.fromEntries(lots.map(({ partition, first }) => [partition, first.place.offset + 1])),
    );
    const drained = drain(log, model, lots, stop.signal);
    const watch = await drained.assigned;
    await drained.indexed;
    await model.refresh();
    const measured = watch();
    stop.abort();
    await drained.ended;
    return measured;
  } finally {
    stop.abort();
    await model.close();
    await bare.remove(indexPrefix);
  }
}

/** Runs the projector, and tells when it has its partitions, and when all that they hold is applied. */
function drain(log: EventLog, model: ReadModel, lots: readonly Lot[], signal: AbortSignal) {
  const assigned = Promise.withResolvers<() => Measured>();
  const indexed = Promise.withResolvers<void>();
  const watched: EventLog = Object.assign(Object.create(log), {
    consume: (topic: Topic, consumer: Consumer, end: AbortSignal) =>
      log.consume(
        topic,
        {
          group: consumer.group,
          assigned: async (partitions) => {
            const from = await consumer.assigned(partitions);
            assigned.resolve(startWatch());
            return from;
          },
          handle: async (batch) => {
            await consumer.handle(batch);
            const done = runner.indexed;
            if (lots.every(({ partition, end: last }) => (done[partition] ?? 0) >= last)) indexed.resolve();
          },
        },
        end,
      ),
  });
  const feed = new LogProgressFeed(log, logger, new LogClock(systemClock), new ServiceSecret('of the benchmark'));
  const runner = new ProjectionRunner(watched, model, feed, auditProjection, new Metrics(), logger);
  const ended = runner.run(signal);
  ended.catch((error) => {
    assigned.reject(error);
    indexed.reject(error);
  });
  return { assigned: assigned.promise, indexed: indexed.promise, ended };
}
