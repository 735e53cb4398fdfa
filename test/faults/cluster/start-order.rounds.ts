import { connect, createServer, type Server } from 'node:net';
import { freePort } from '../../support/containers.js';
import { KafkaProxy } from '../../support/kafka-proxy.js';
import { randomOf, SEED } from '../../support/random.js';
import { bodyOf, Client } from '../client.js';
import { removeCompiled } from '../process.js';
import { Cluster, eventually, faultSuite, MINUTES, ROOT_KEY, ROUNDS, report, SECONDS } from './cluster.js';
import { bodyFor, Ledger, ORG, PUBLISH } from './ledger.js';

/** An address of Elasticsearch at which nothing answers until it is opened. */
class Door {
  private server: Server | undefined;

  private constructor(
    readonly port: number,
    private readonly to: URL,
  ) {}

  static async at(url: string): Promise<Door> {
    return new Door(await freePort(), new URL(url));
  }

  open(): Promise<void> {
    const server = createServer((client) => {
      const behind = connect(Number(this.to.port), this.to.hostname);
      for (const [from, to] of [[client, behind] as const, [behind, client] as const]) {
        from.on('error', () => undefined);
        from.on('close', () => to.destroy());
        from.pipe(to);
      }
    });
    this.server = server;
    return new Promise((resolve) => {
      server.listen(this.port, '127.0.0.1', resolve);
    });
  }

  close(): void {
    this.server?.close();
  }
}

type Step = 'api' | 'projector' | 'Kafka' | 'Elasticsearch';

const STEPS: readonly Step[] = ['api', 'projector', 'Kafka', 'Elasticsearch'];

/** All orders there are; the first of a run is the one that a deployment meets most. */
function ordersOf(steps: readonly Step[]): Step[][] {
  if (steps.length < 2) return [[...steps]];
  return steps.flatMap((first) => ordersOf(steps.filter((one) => one !== first)).map((rest) => [first, ...rest]));
}

faultSuite('instances and stores that start in any order', () => {
  afterAll(removeCompiled);
  const random = randomOf(SEED);
  const all = ordersOf(STEPS);
  const [first = []] = all;
  const others = all.slice(1).sort(() => random() - 0.5);
  const orders = [first, ...others].slice(0, Math.min(all.length, ROUNDS));

  const missing = async (port: number): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${port}/health/ready`);
    const { status, details } = (await answer.json()) as { status: number; details?: { missing: string[] } };
    return status === 503 ? (details?.missing ?? []).join('; ') : '';
  };

  test.each(orders.map((order) => [order.join(', '), order] as const))(
    '%s: readiness names what is missing, and all serve in the end',
    async (name, order) => {
      const kafka = await KafkaProxy.start((process.env.TEST_KAFKA_BROKERS ?? '').split(',')[0] ?? '');
      kafka.refuse();
      const door = await Door.at(process.env.TEST_ELASTICSEARCH_URL ?? '');
      const ports = { api: await freePort(), projector: await freePort() };
      const cluster = new Cluster({
        // The brokers name their own address: it is only the first contact that has to wait.
        CONTROL_KAFKA_BROKERS: `127.0.0.1:${kafka.address.port}`,
        CONTROL_ELASTICSEARCH_URL: `http://127.0.0.1:${door.port}`,
      });
      const closed = new Set<Step>(['Kafka', 'Elasticsearch']);
      const started: ('api' | 'projector')[] = [];
      try {
        for (const step of order) {
          if (step === 'Kafka') kafka.accept();
          else if (step === 'Elasticsearch') await door.open();
          else {
            cluster.spawn(step, { CONTROL_PORT: String(ports[step]) });
            started.push(step);
          }
          closed.delete(step);
          for (const role of started) await expectMissing(ports[role], role, [...closed]);
        }
        const api = `http://127.0.0.1:${ports.api}`;
        for (const role of started)
          await eventually(`${role} is ready`, async () => (await missing(ports[role])) === '');
        const client = await new Client(api, ROOT_KEY).org(ORG);
        const ledger = new Ledger();
        const sent = ledger.add('first', 'first');
        const answer = await client.post(PUBLISH, bodyFor(sent));
        expect(answer.status).toBe(201);
        ledger.acknowledge(sent, bodyOf<{ id: string }>(answer).id);
        await ledger.check(api, client.key);
        report(`started in the order ${name}`);
      } finally {
        await cluster.remove();
        await kafka.close();
        door.close();
      }
    },
    2 * MINUTES,
  );

  /** Elasticsearch is looked for once Kafka has said which log it is: until then it is missing, for that reason or for its own. */
  async function expectMissing(port: number, role: 'api' | 'projector', closed: readonly Step[]): Promise<void> {
    if (closed.length === 0) return;
    await eventually(
      `readiness names ${closed.join(' and ')}`,
      async () => {
        const said = await missing(port);
        const made = await new Client(`http://127.0.0.1:${port}`, ROOT_KEY).post('/org', { name: ORG });
        // A projector has no such route, ready or not.
        const refused = made.status === (role === 'api' ? 503 : 404);
        if (!refused) throw new Error(`it was answered ${made.status} before it was ready`);
        return closed.every((step) => said.includes(step));
      },
      20 * SECONDS,
    );
  }
});
