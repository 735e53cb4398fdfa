import type { Logger } from 'pino';
import { ConnectingEventLog } from '../event-log/connecting.js';
import type { Topic } from '../event-log/event-log.js';
import { KafkaEventLog } from '../event-log/kafka/event-log.js';
import type { Clock } from '../platform/clock.js';
import type { ClusterConfig } from '../platform/config/cluster.js';
import { LogProgressFeed } from '../progress/log-feed.js';
import { ConnectingReadModel } from '../read-model/connecting.js';
import { ElasticsearchReadModel } from '../read-model/elasticsearch/read-model.js';
import type { Retention } from '../read-model/retention.js';
import type { Store } from './store.js';

/** How long an append is retried: as long as a caller may reasonably wait. */
const DELIVERY_MS = 10_000;

/** Kafka and Elasticsearch, which may start later than the process. What it opens is closed with `started`. */
export function openClusterStore(
  { kafka, elasticsearch }: ClusterConfig,
  retention: Retention,
  clock: Clock,
  logger: Logger,
  started: AsyncDisposableStack,
): Store {
  const log = new ConnectingEventLog('Kafka', () => KafkaEventLog.open({ ...kafka, deliveryMs: DELIVERY_MS, logger }));
  started.defer(() => log.close());
  let opened: ElasticsearchReadModel | undefined;
  const model = new ConnectingReadModel('Elasticsearch', ElasticsearchReadModel.refreshMs, async () => {
    const { id } = await log.opened;
    const head = (topic: Topic) => log.head(topic);
    opened = await ElasticsearchReadModel.open({ ...elasticsearch, logId: id, head, retention, clock, logger });
    return opened;
  });
  started.defer(() => model.close());
  const feed = new LogProgressFeed(log, logger);
  return {
    log,
    model,
    feed,
    missing: () => [
      ...[log.missing, model.missing].filter((reason) => reason !== undefined),
      ...(feed.isTailing ? [] : ['the topic progress is not read yet']),
    ],
    isOutdated: () => opened?.isOutdated ?? false,
    run: (signal) => [untilAborted(log.opened, signal), untilAborted(model.opened, signal), feed.run(signal)],
  };
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
