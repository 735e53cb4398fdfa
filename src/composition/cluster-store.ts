import type { Logger } from 'pino';
import { ConnectingEventLog } from '../event-log/connecting.js';
import type { Offsets, Topic } from '../event-log/event-log.js';
import { KafkaEventLog } from '../event-log/kafka/event-log.js';
import type { Clock } from '../platform/clock.js';
import type { ClusterConfig } from '../platform/config/cluster.js';
import { Elasticsearch } from '../platform/elasticsearch.js';
import { LogClock } from '../platform/log-clock.js';
import { sharesOf } from '../platform/memory.js';
import type { ServiceSecret } from '../platform/service-secret.js';
import { pause } from '../platform/waiting.js';
import { LogProgressFeed } from '../progress/log-feed.js';
import { ConnectingReadModel } from '../read-model/connecting.js';
import { ElasticsearchJobBoard } from '../read-model/elasticsearch/job-board.js';
import { Names } from '../read-model/elasticsearch/names.js';
import { ElasticsearchReadModel } from '../read-model/elasticsearch/read-model.js';
import type { Retention } from '../read-model/retention.js';
import { ElasticsearchTreeStore } from '../tree-store/elasticsearch/tree-store.js';
import type { Store } from './store.js';

/** How long an append is retried: as long as a caller may reasonably wait. */
const DELIVERY_MS = 10_000;

/** Kafka and Elasticsearch, which may start later than the process. What it opens is closed with `started`. */
export function openClusterStore(
  { kafka, elasticsearch }: ClusterConfig,
  memory: number,
  retention: Retention,
  clock: Clock,
  secret: ServiceSecret,
  logger: Logger,
  started: AsyncDisposableStack,
): Store {
  let openedLog: KafkaEventLog | undefined;
  const log = new ConnectingEventLog('Kafka', async () => {
    const feedBytes = sharesOf(memory).fetched;
    openedLog = await KafkaEventLog.open({ ...kafka, feedBytes, deliveryMs: DELIVERY_MS, logger });
    return openedLog;
  });
  started.defer(() => log.close());
  const feed = new LogProgressFeed(log, logger, clock instanceof LogClock ? clock : new LogClock(clock), secret);
  let opened: ElasticsearchReadModel | undefined;
  const model = new ConnectingReadModel('Elasticsearch', ElasticsearchReadModel.refreshMs, async () => {
    const { id } = await log.opened;
    // What has expired, and which generation is new, is decided by the time of the log.
    await feed.started;
    const head = (topic: Topic) => log.head(topic);
    opened = await ElasticsearchReadModel.open({ ...elasticsearch, logId: id, head, retention, clock, logger });
    return opened;
  });
  started.defer(() => model.close());
  started.defer(() => feed.close());
  const es = new Elasticsearch(elasticsearch);
  started.defer(() => es.close());
  const { indexPrefix, replicas } = elasticsearch;
  const generations = () => opened?.generations;
  const board = new ElasticsearchJobBoard({ es, names: new Names(indexPrefix), replicas, generations, clock, logger });
  const treeOptions = { es, indexPrefix, replicas, log: async () => (await log.opened).id };
  const hasCuts = async () => ((await log.head('checkpoints'))[0] ?? 0) > 1;
  return {
    log,
    model,
    feed,
    board,
    trees: new ElasticsearchTreeStore(treeOptions),
    sharedTrees: new ElasticsearchTreeStore({ ...treeOptions, hasCuts }),
    ...(kafka.deleteExpired && {
      forgetting: { deleteBefore: async (ends: Offsets) => openedLog?.deleteBefore(ends) },
    }),
    missing: () => [
      ...[log.missing, model.missing, opened?.unusable].filter((reason) => reason !== undefined),
      ...(feed.isTailing ? [] : ['the topic progress is not read yet']),
    ],
    isOutdated: () => opened?.isOutdated ?? false,
    replaceUnusable: async () => (opened?.unusable === undefined ? undefined : opened.replace()),
    run: (signal) => [
      untilAborted(log.opened, signal),
      untilAborted(model.opened, signal),
      feed.run(signal),
      retried(() => opened?.retry(), signal),
      board.watch(signal),
    ],
  };
}

const RETRY_MS = 1_000;

/** Looks whether another process, or an operator, has put another read model in the place of an unusable one. */
async function retried(retry: () => Promise<void> | undefined, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(RETRY_MS, signal, { ref: false });
    if (!signal.aborted) await retry();
  }
}

/** Rejects if the store cannot be used. */
function untilAborted(opened: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
    opened.then(
      () => resolve(),
      (error) => (signal.aborted ? resolve() : reject(error)),
    );
  });
}
