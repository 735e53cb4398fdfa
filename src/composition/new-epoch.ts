import { join } from 'node:path';
import pino from 'pino';
import { EmbeddedEventLog } from '../event-log/embedded/event-log.js';
import type { EventLog } from '../event-log/event-log.js';
import { KafkaEventLog } from '../event-log/kafka/event-log.js';
import { systemClock } from '../platform/clock.js';
import type { ClusterConfig } from '../platform/config/cluster.js';
import { readConfig } from '../platform/config/config.js';
import { Elasticsearch } from '../platform/elasticsearch.js';
import { setAside } from '../platform/sqlite.js';
import { beginEpoch, type NewEpoch } from '../sealing/epoch.js';
import { NotesFile } from '../sealing/kept-notes.js';
import { SealingRefused } from '../sealing/term.js';
import { ElasticsearchTreeStore } from '../tree-store/elasticsearch/tree-store.js';
import { notesFile, signingKeyFile } from './kept-secrets.js';
import { keptKeys } from './sealing.js';

/**
 * Begins an epoch in the log of the data folder, or with `CONTROL_STORE=cluster` in the one in Kafka. The trees are made anew
 * from the log; those of before stay aside. A key that was lost is made anew, too.
 */
export async function newEpoch(dataDir: string, reason: string, say: (text: string) => void): Promise<void> {
  if (process.env.CONTROL_STORE === 'cluster') return inCluster(reason, say);
  const log = await EmbeddedEventLog.open({ file: join(dataDir, 'log.db'), clock: systemClock });
  try {
    const last = () => new NotesFile(notesFile(dataDir)).last();
    const keyFile = process.env.CONTROL_CHECKPOINT_KEY_FILE || signingKeyFile(dataDir);
    await begin(log, { reason, last, keyFile, origin: process.env.CONTROL_TLOG_ORIGIN || undefined }, say);
    setAside(join(dataDir, 'tlog.db'));
  } finally {
    await log.close();
  }
}

/** With the settings of a process that seals. */
async function inCluster(reason: string, say: (text: string) => void): Promise<void> {
  const { cluster, tlog } = readConfig(process.env);
  if (!cluster) throw new Error('CONTROL_STORE is not cluster');
  if (tlog.keyFile === undefined) {
    throw new SealingRefused('CONTROL_CHECKPOINT_KEY_FILE must name the key that signs');
  }
  await beginClusterEpoch(cluster, { reason, keyFile: tlog.keyFile, origin: tlog.origin }, say);
}

/** Also of the log in Kafka that this one was copied from, the last note that was signed is found while Elasticsearch has its trees. */
async function beginClusterEpoch(
  { kafka, elasticsearch }: ClusterConfig,
  settings: Omit<Settings, 'last'>,
  say: (text: string) => void,
): Promise<void> {
  const es = new Elasticsearch(elasticsearch);
  const log = await KafkaEventLog.open({ ...kafka, logger: pino({ level: 'silent' }) });
  const { indexPrefix, replicas } = elasticsearch;
  const treesOf = (id: string) => new ElasticsearchTreeStore({ es, indexPrefix, replicas, log: async () => id });
  try {
    const last = async (id: string) => (await treesOf(id).published('service'))?.note;
    await begin(log, { ...settings, last }, say);
    const aside = await treesOf(log.id).setAside();
    if (aside !== undefined) say(`the trees of before are in the index ${aside}`);
  } finally {
    await log.close();
    await es.close();
  }
}

interface Settings extends Pick<NewEpoch, 'reason' | 'last'> {
  readonly keyFile: string;
  /** Undefined: `svc-` and the identifier of the log. */
  readonly origin: string | undefined;
}

async function begin(
  log: EventLog,
  { reason, last, keyFile, origin = `svc-${log.id}` }: Settings,
  say: (text: string) => void,
): Promise<void> {
  const { publicKey } = keptKeys(keyFile, origin, true).newest;
  const { epoch, vkey } = await beginEpoch(log, { reason, last, publicKey, origin, now: Date.now() });
  say(`epoch ${epoch} begins; give its key to witnesses and auditors: ${vkey}`);
}
