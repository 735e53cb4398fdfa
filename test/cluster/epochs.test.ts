import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { EventLog, Topic } from '../../src/event-log/event-log.js';
import { readRange } from '../../src/event-log/read-range.js';
import { checkpointEntry, type Epoch } from '../../src/sealing/chain.js';
import { LoggedNotes } from '../../src/sealing/logged-notes.js';
import { SigningKeys } from '../../src/sealing/signing-keys.js';
import { MAIN, NODE, temporaryFolder } from '../cli/support/svc.js';
import { TreeStores } from '../contract/elasticsearch-trees.harness.js';
import { sleep } from '../contract/harness.js';
import { PATIENCE } from '../support/patience.js';
import { allPublished, eventOf, leading, SIGNER, sealerFor, sealing } from '../support/sealing.js';
import { TEST_SECRETS } from '../support/secrets.js';
import { Seed } from '../support/seed.js';
import { KafkaWorld } from './kafka-support.js';
import { clusterSuite } from './support.js';

const COPIED: readonly Topic[] = ['control', 'audit', 'checkpoints'];
const SERVICE = 'test.example.com/audit/-tlog';

clusterSuite('a log in Kafka that was copied', ({ kafkaBrokers, elasticsearchUrl }) => {
  const [former, copied] = [new KafkaWorld(kafkaBrokers), new KafkaWorld(kafkaBrokers)];
  let trees: TreeStores;
  beforeAll(() => {
    trees = new TreeStores(elasticsearchUrl);
  });
  afterAll(async () => {
    await Promise.all([former.close(), copied.close()]);
    await trees.destroy();
  });

  /** Seals until all of the log is published; resolves with the last note of the service log. */
  async function sealed(log: EventLog): Promise<string> {
    const { store } = trees.open(log.id);
    const sealer = sealerFor(leading(log), store, { kept: new LoggedNotes(log, store) });
    await sealing(sealer, () => allPublished(sealer, log));
    return (await store.published('service'))?.note ?? '';
  }

  async function append(log: EventLog, from: number): Promise<void> {
    await log.append(Array.from({ length: 20 }, (_, n) => eventOf('acme', from + n)));
  }

  /** As a mirror does: with the times of the records, into topics that are new. */
  async function copy(log: EventLog): Promise<EventLog> {
    await (await copied.open({ partitions: 1 })).close();
    for (const topic of COPIED) {
      const end = await log.head(topic);
      await copied.keepingTimes(topic, async (send) => {
        for await (const { records } of readRange(log, topic, {}, end, AbortSignal.timeout(60_000)))
          await send(records);
      });
    }
    return copied.open({ partitions: 1 });
  }

  /** Runs `restore` with the settings of a process that seals the copy. */
  async function newEpoch() {
    const keyFile = join(temporaryFolder(), 'checkpoint.key');
    await writeFile(keyFile, new SigningKeys(SIGNER).toText());
    const env = {
      PATH: process.env.PATH,
      ...TEST_SECRETS,
      CONTROL_STORE: 'cluster',
      CONTROL_KAFKA_BROKERS: kafkaBrokers.join(','),
      CONTROL_KAFKA_TOPIC_PREFIX: copied.prefix,
      CONTROL_KAFKA_REPLICATION: '1',
      CONTROL_ELASTICSEARCH_URL: elasticsearchUrl,
      CONTROL_ELASTICSEARCH_INDEX_PREFIX: trees.prefix,
      CONTROL_ELASTICSEARCH_REPLICAS: '0',
      CONTROL_CHECKPOINT_KEY_FILE: keyFile,
    };
    const main = join(dirname(MAIN), '../operator/main.js');
    return spawnSync(NODE, ['--no-warnings', main, 'restore', '--new-epoch', 'a test'], { encoding: 'utf8', env });
  }

  async function lastEpoch(log: EventLog): Promise<Epoch | undefined> {
    let last: Epoch | undefined;
    const end = await log.head('checkpoints');
    for await (const { records } of readRange(log, 'checkpoints', {}, end, AbortSignal.timeout(60_000))) {
      for (const { key, value } of records) if (key === 'epoch') last = JSON.parse(value.toString());
    }
    return last;
  }

  it(
    'is not sealed until an epoch is begun, which says what was signed before',
    async () => {
      const log = await former.open({ partitions: 1 });
      const seed = new Seed();
      seed.org('acme');
      await log.append(seed.take());
      await append(log, 0);
      await sealed(log);
      const copyOf = await copy(log);
      await append(log, 100);
      const lost = await sealed(log);
      expect(copyOf.id).not.toBe(log.id);

      await append(copyOf, 200);
      const sealingCopy = sealed(copyOf).catch(({ message }: Error) => message);
      expect(await sealingCopy).toContain(`checkpoints are of the log ${log.id}, and this is ${copyOf.id}: a copy`);
      // A stranger's note is no evidence.
      const note = lost.replace(/^.*/, `${SERVICE}/900`);
      await copyOf.append([checkpointEntry({ kind: 'note', n: 1, note })]);

      const begun = await newEpoch();
      expect(begun).toMatchObject({ status: 0, stderr: expect.stringContaining(`epoch 2 begins; give its key`) });
      expect(begun.stderr).toContain(`${SERVICE}/2+`);
      expect(await lastEpoch(copyOf)).toMatchObject({ epoch: 2, reason: 'a test', last: lost, log: copyOf.id });
      expect((await sealed(copyOf)).split('\n')[0]).toBe(`${SERVICE}/2`);

      // The same log once more, with trees of its own: they stay aside.
      const again = await newEpoch();
      expect(again).toMatchObject({ status: 0, stderr: expect.stringMatching(/epoch 3 begins.*\n.*\.replaced\./) });
      await append(copyOf, 300);
      await sleep(10);
      expect((await sealed(copyOf)).split('\n')[0]).toBe(`${SERVICE}/3`);
    },
    240_000 * PATIENCE,
  );
});
