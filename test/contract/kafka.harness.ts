import { randomUUID } from 'node:crypto';
import { Kafka, logLevel } from 'kafkajs';
import { pino } from 'pino';
import type { EventLog } from '../../src/event-log/event-log.js';
import { KafkaEventLog } from '../../src/event-log/kafka/event-log.js';
import type { KafkaEventLogOptions } from '../../src/event-log/kafka/options.js';
import { KafkaProxy, PRODUCE } from '../support/kafka-proxy.js';
import type { EventLogHarness, LogFeature } from './event-log.harness.js';

export const silent = pino({ level: process.env.TEST_LOG_LEVEL ?? 'silent' });

/** Topics of one's own on a shared cluster. */
export function newPrefix(): string {
  return `t-${randomUUID().slice(0, 13)}.`;
}

/** Behind a proxy that can fail as the network does. */
export async function openKafkaLog(brokers: readonly string[], feature?: LogFeature): Promise<EventLogHarness> {
  const prefix = newPrefix();
  const proxy = await KafkaProxy.start(brokers[0] ?? '');
  const options: KafkaEventLogOptions = {
    brokers,
    route: () => proxy.address,
    topicPrefix: prefix,
    partitions: 3,
    replication: 1,
    maxPending: { entries: 1000, bytes: 64 * 1024 * 1024 },
    // Where an append must fail, its time is up soon; elsewhere a machine that stands still for a moment must not fail it.
    deliveryMs: feature === 'failAppends' ? 1_000 : 30_000,
    logger: silent,
  };
  let log = await KafkaEventLog.open(options);
  const face = faceOf(() => log);
  const repair = () => {
    proxy.accept();
    proxy.onAnswer = undefined;
  };
  return {
    log: face,
    partitions: 3,
    crowd: 1500,
    async reopen() {
      await log.close();
      log = await KafkaEventLog.open(options);
      return log;
    },
    failAppends(how) {
      if (how === 'unavailable') proxy.refuse();
      else proxy.onAnswer = (apiKey) => (apiKey === PRODUCE ? 'drop' : undefined);
    },
    repair,
    async destroy() {
      repair();
      await log.close();
      await proxy.close();
      await deleteTopics(brokers, prefix);
    },
  };
}

/** Always the log that is open now, for whoever keeps it over a reopen: a closed one answers nothing. */
function faceOf(log: () => EventLog): EventLog {
  return {
    get id() {
      return log().id;
    },
    get pending() {
      return log().pending;
    },
    append: (entries) => log().append(entries),
    read: (topic, from, signal) => log().read(topic, from, signal),
    consume: (topic, consumer, signal) => log().consume(topic, consumer, signal),
    head: (topic) => log().head(topic),
    beginning: (topic) => log().beginning(topic),
    close: () => log().close(),
  };
}

export async function deleteTopics(brokers: readonly string[], prefix: string): Promise<void> {
  const admin = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING, retry: { retries: 0 } }).admin();
  await admin.connect();
  const made = (await admin.listTopics()).filter((name) => name.startsWith(prefix));
  if (made.length > 0) await admin.deleteTopics({ topics: made });
  await admin.disconnect();
}
