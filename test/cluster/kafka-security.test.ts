import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { KafkaEventLog } from '../../src/event-log/kafka/event-log.js';
import { StoreUnusable } from '../../src/platform/store-unusable.js';
import { entry, readAll, tail, texts } from '../contract/event-log.harness.js';
import { settled, until } from '../contract/harness.js';
import { selfSigned } from '../support/certificate.js';
import { type StartedCluster, startKafkaCluster } from '../support/containers.js';
import { KafkaWorld, member } from './kafka-support.js';
import { clusterSuite, containerSuite } from './support.js';

const USER = { username: 'svc', password: 'pass=word, with signs' };

containerSuite('Kafka that wants credentials', () => {
  let kafka: StartedCluster;
  beforeAll(async () => {
    const jaas = `org.apache.kafka.common.security.plain.PlainLoginModule required user_svc="${USER.password}";`;
    const settings = {
      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'PLAINTEXT:SASL_PLAINTEXT,BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT',
      KAFKA_SASL_ENABLED_MECHANISMS: 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
      KAFKA_LISTENER_NAME_PLAINTEXT_PLAIN_SASL_JAAS_CONFIG: jaas,
      KAFKA_LISTENER_NAME_PLAINTEXT_SCRAM___SHA___256_SASL_JAAS_CONFIG: SCRAM,
      KAFKA_LISTENER_NAME_PLAINTEXT_SCRAM___SHA___512_SASL_JAAS_CONFIG: SCRAM,
    };
    kafka = await startKafkaCluster(process.env, 1, settings, { mechanism: 'plain', ...USER });
    for (const mechanism of ['SCRAM-SHA-256', 'SCRAM-SHA-512']) {
      const command = `${TOOL} ${MAKE_SCRAM_USER} ${mechanism}=[password=secret]`;
      const made = await kafka.containers[0]?.exec(['sh', '-c', command]);
      if (made?.exitCode !== 0) throw new Error(made?.output);
    }
  }, 240_000);
  afterAll(() => kafka?.stop());

  test.each(['plain', 'scram-sha-256', 'scram-sha-512'] as const)(
    'takes them by %s on every connection',
    async (mechanism) => {
      const user = mechanism === 'plain' ? USER : { username: 'scrammed', password: 'secret' };
      const world = new KafkaWorld(kafka.brokers);
      const log = await world.open({ sasl: { mechanism, ...user } });
      const reader = tail(log);
      const run = member(log, 'g');
      await log.append([entry('a')]);
      await until(() => reader.records.length === 1 && run.records().length === 1, 'the record is read');

      expect(texts(await readAll(log))).toEqual(['a']);
      await Promise.all([reader.stop(), run.stop()]);
      await log.close();
    },
  );

  test.each(['plain', 'scram-sha-512'] as const)(
    'refuses wrong ones by %s, and the operator is told',
    async (mechanism) => {
      const options = new KafkaWorld(kafka.brokers).options({
        sasl: { mechanism, username: 'svc', password: 'wrong one' },
      });

      const { error } = (await settled(KafkaEventLog.open(options))) as { error: Error };

      expect(error).toBeInstanceOf(StoreUnusable);
      expect(error.message).toContain('Kafka refuses the credentials');
      expect(error.message).not.toContain('wrong one');
    },
  );
});

const SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule required;';
const TOOL = '$(command -v kafka-configs || echo /opt/kafka/bin/kafka-configs.sh)';
const MAKE_SCRAM_USER =
  '--bootstrap-server localhost:9093 --alter --entity-type users --entity-name scrammed --add-config';

clusterSuite('Kafka behind TLS', ({ kafkaBrokers }) => {
  const folder = mkdtempSync(join(tmpdir(), 'control-tls-'));
  let server: Server;
  let cert = '';
  beforeAll(async () => {
    const { cert: own, key } = selfSigned(folder);
    cert = own;
    const [host = '', port = ''] = (kafkaBrokers[0] ?? '').split(':');
    server = createServer({ cert, key }, (client) => {
      const broker = connect(Number(port), host);
      client.pipe(broker).pipe(client);
      client.on('error', () => broker.destroy());
      broker.on('error', () => client.destroy());
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
  });
  afterAll(() => {
    server?.close();
    rmSync(folder, { recursive: true });
  });

  const address = () => ({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });

  test('is trusted by the certificate authority that is named', async () => {
    const world = new KafkaWorld(kafkaBrokers);
    const log = await world.open({ tls: { ca: cert }, route: address });

    await log.append([entry('a')]);

    expect(texts(await readAll(log))).toEqual(['a']);
    await world.close();
  });

  test('is refused when nobody vouches for it, and the operator is told', async () => {
    const options = new KafkaWorld(kafkaBrokers).options({ tls: {}, route: address });

    const { error } = (await settled(KafkaEventLog.open(options))) as { error: Error };

    expect(error).toBeInstanceOf(StoreUnusable);
    expect(error.message).toContain('TLS with Kafka fails');
  });

  test('is told from a port without TLS', async () => {
    const { error } = (await settled(KafkaEventLog.open(new KafkaWorld(kafkaBrokers).options({ tls: {} })))) as {
      error: Error;
    };

    expect(error).toMatchObject({ name: expect.stringMatching(/StoreUnusable|ControlError/) });
  });
});
