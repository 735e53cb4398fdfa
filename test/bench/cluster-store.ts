import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { Kafka, logLevel, Partitioners, type Producer } from 'kafkajs';
import { pino } from 'pino';
import type { EventLog, LogEntry } from '../../src/event-log/event-log.js';
import { realEvent } from './events.ts';
import { built } from './server.ts';

export const logger = pino({ level: process.env.TEST_LOG_LEVEL ?? 'silent' });

/** Topics of one's own on Kafka, gone with `remove`. */
export class Topics {
  readonly prefix = `bench-${randomUUID().slice(0, 13)}.`;
  private readonly brokers: readonly string[];
  private readonly kafka: Kafka;

  constructor(brokers: readonly string[]) {
    this.brokers = brokers;
    this.kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING });
  }

  async open(): Promise<EventLog> {
    const { KafkaEventLog } =
      await built<typeof import('../../src/event-log/kafka/event-log.js')>('event-log/kafka/event-log.js');
    return KafkaEventLog.open({ brokers: this.brokers, topicPrefix: this.prefix, replication: 1, logger });
  }

  /** As kafkajs comes, but that it makes no topics. */
  async producer(): Promise<Producer> {
    const producer = this.kafka.producer({
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
    });
    await producer.connect();
    return producer;
  }

  async remove(): Promise<void> {
    const admin = this.kafka.admin();
    await admin.connect();
    const isOwn = (name: string) => name.startsWith(this.prefix);
    const groups = (await admin.listGroups()).groups.map(({ groupId }) => groupId).filter(isOwn);
    if (groups.length > 0) await admin.deleteGroups(groups);
    await admin.deleteTopics({ topics: (await admin.listTopics()).filter(isOwn) });
    await admin.disconnect();
  }
}

/** Elasticsearch by itself: requests as they are, over connections that are kept. */
export class Bare {
  private readonly url: string;
  private readonly agent = new Agent({ keepAlive: true });

  constructor(url: string) {
    this.url = url;
  }

  /** Rejects when the answer is not one of success. */
  ask(method: string, path: string, body: string | Uint8Array = '', type = 'application/json'): Promise<string> {
    return new Promise((resolve, reject) => {
      const headers = body.length > 0 ? { 'content-type': type, 'content-length': Buffer.byteLength(body) } : {};
      const sent = request(new URL(path, this.url), { method, agent: this.agent, headers }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        answer.on('error', reject).on('end', () => {
          if (answer.statusCode === 200) resolve(text);
          else reject(new Error(`${answer.statusCode} to ${method} ${path}: ${text}`));
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  async remove(prefix: string): Promise<void> {
    const found = JSON.parse(await this.ask('GET', `/${prefix}*/_alias?expand_wildcards=all`));
    const names = Object.keys(found);
    if (names.length > 0) await this.ask('DELETE', `/${names.join(',')}`);
  }

  close(): void {
    this.agent.destroy();
  }
}

/** Real events on many resources, as the service puts them into the log. */
export async function entriesOf(count: number, resources: number): Promise<LogEntry[]> {
  const { recordedEvent } = await built<typeof import('../../src/model/audit-event.js')>('model/audit-event.js');
  const { auditEntry } = await built<typeof import('../../src/event-log/audit-record.js')>('event-log/audit-record.js');
  const { systemIds } = await built<typeof import('../../src/platform/ids.js')>('platform/ids.js');
  const { systemClock, isoTime } = await built<typeof import('../../src/platform/clock.js')>('platform/clock.js');
  const ids = systemIds(systemClock);
  return Array.from({ length: count }, (_, number) => {
    const publication = {
      ...{ org: 'bench', contextName: 'default', remoteIp: '127.0.0.1', requestId: ids.next() },
      ...{ id: ids.next(), postedTime: isoTime(systemClock.now()), subject: { name: 'bench' } },
      publisher: { link: '/org/bench/serviceaccount/admin', keyId: 'key-1', remoteIp: '127.0.0.1' },
    };
    return auditEntry(recordedEvent(realEvent(number, resources), publication));
  });
}

/** User and system time of this process a piece of work, in microseconds. */
export function cpuEach({ user, system }: NodeJS.CpuUsage, pieces: number): string {
  return `${((user + system) / pieces).toFixed(0)} us CPU each in this process`;
}
