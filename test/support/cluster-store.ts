import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { KafkaEventLog } from '../../src/event-log/kafka/event-log.js';
import { readRange } from '../../src/event-log/read-range.js';
import { readConfig } from '../../src/platform/config/config.js';
import { removeIndices } from '../contract/elasticsearch.harness.js';
import { deleteTopics } from '../contract/kafka.harness.js';
import { TEST_SECRETS } from './secrets.js';

/** So long a slow machine may need to make searchable what was written, where a test is told at once that it is. */
export const PATIENT = { CONTROL_SYNC_TIMEOUT_MS: '20000' };

/** A log and a read model of their own on the Kafka and Elasticsearch of the test run. */
export interface ClusterStore {
  readonly env: Readonly<Record<string, string>>;
  /** The log without a service; to be closed by the caller. */
  openLog(): Promise<KafkaEventLog>;
  /** Everything that it keeps: the records of the log, and the documents of the read model. */
  stored(): Promise<Buffer>;
  /** The next start makes it anew from the log. */
  removeReadModel(): Promise<void>;
  remove(): Promise<void>;
}

export function newClusterStore(): ClusterStore {
  const { TEST_KAFKA_BROKERS: brokers = '', TEST_ELASTICSEARCH_URL: url = '' } = process.env;
  const prefix = `t${randomUUID().slice(0, 8)}`;
  const keyFile = join(tmpdir(), `${prefix}.checkpoint.key`);
  const { privateKey } = generateKeyPairSync('ed25519');
  writeFileSync(keyFile, privateKey.export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600 });
  const env = {
    CONTROL_STORE: 'cluster',
    CONTROL_CHECKPOINT_KEY_FILE: keyFile,
    CONTROL_DRAIN_MS: '0',
    ...TEST_SECRETS,
    CONTROL_KAFKA_BROKERS: brokers,
    CONTROL_KAFKA_TOPIC_PREFIX: `${prefix}.`,
    CONTROL_KAFKA_REPLICATION: '1',
    CONTROL_KAFKA_PARTITIONS: process.env.TEST_PARTITIONS ?? '3',
    CONTROL_ELASTICSEARCH_URL: url,
    CONTROL_ELASTICSEARCH_INDEX_PREFIX: `${prefix}-`,
    CONTROL_ELASTICSEARCH_REPLICAS: '0',
  };
  const removeReadModel = () => removeIndices(url, `${prefix}-`);
  const openLog = () => {
    const { cluster } = readConfig(env);
    if (!cluster) throw new Error('the configuration is of a cluster');
    return KafkaEventLog.open({ ...cluster.kafka, logger: pino({ level: 'silent' }) });
  };
  return {
    env,
    openLog,
    async stored() {
      const log = await openLog();
      const records = await recordsOf(log).finally(() => log.close());
      const documents = await fetch(`${url}/${prefix}-*/_search?size=10000`);
      return Buffer.concat([...records, Buffer.from(await documents.arrayBuffer())]);
    },
    removeReadModel,
    async remove() {
      rmSync(keyFile, { force: true });
      await deleteTopics(brokers.split(','), `${prefix}.`);
      await removeReadModel();
    },
  };
}

async function recordsOf(log: KafkaEventLog): Promise<Uint8Array[]> {
  const values: Uint8Array[] = [];
  for (const topic of ['control', 'audit'] as const) {
    for await (const { records } of readRange(log, topic, {}, await log.head(topic), AbortSignal.timeout(30_000))) {
      values.push(...records.map(({ value }) => value));
    }
  }
  return values;
}
