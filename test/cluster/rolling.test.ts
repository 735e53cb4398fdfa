import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '../faults/client.js';
import { Cluster, eventually, MINUTES } from '../faults/cluster/cluster.js';
import { Ledger, ORG } from '../faults/cluster/ledger.js';
import { Load } from '../faults/cluster/load.js';
import { removeCompiled, type ServiceProcess } from '../faults/process.js';
import { tell } from '../hardening/scale.js';
import { type Balancer, startBalancer } from '../support/balancer.js';
import { freePort } from '../support/containers.js';
import { randomOf, SEED } from '../support/random.js';
import { TEST_SECRETS } from '../support/secrets.js';
import { clusterSuite } from './support.js';

/** 10 at `FAULTS_ROUNDS=20`. */
const ROUNDS = Math.ceil(Number(process.env.FAULTS_ROUNDS || 4) / 2);

const DRAIN_MS = 5_000;

clusterSuite('processes that are restarted one after another, under load, behind the balancer of infra', () => {
  const cluster = new Cluster({ CONTROL_DRAIN_MS: `${DRAIN_MS}` });
  const processes = new Map<number, ServiceProcess>();
  let balancer: Balancer;
  let projector: ServiceProcess;
  let key: string;

  beforeAll(async () => {
    projector = cluster.spawn('projector');
    const ports = [await freePort(), await freePort()];
    await Promise.all(ports.map(start));
    await projector.listening;
    balancer = await startBalancer(ports.map((port) => `http://127.0.0.1:${port}`));
    key = (await new Client(balancer.url, TEST_SECRETS.CONTROL_ROOT_KEY).org(ORG)).key;
  });

  afterAll(async () => {
    await Load.stopAll();
    await balancer?.stop();
    await cluster.remove();
    removeCompiled();
  });

  async function start(port: number): Promise<void> {
    const started = cluster.spawn('api', { CONTROL_PORT: String(port) });
    processes.set(port, started);
    await started.listening;
  }

  async function restart(port: number): Promise<void> {
    await cluster.end(processes.get(port) as ServiceProcess, 'SIGTERM');
    await start(port);
  }

  async function restartProjector(): Promise<void> {
    await cluster.end(projector, 'SIGTERM');
    projector = cluster.spawn('projector');
    await projector.listening;
  }

  test(
    `fail no request: ${ROUNDS} rounds`,
    async () => {
      const ledger = new Ledger();
      const load = new Load({ urls: [balancer.url], key, ledger, random: randomOf(SEED), restMs: 5 }).start();
      const seen: number[] = [];
      for (let round = 1; round <= ROUNDS; round += 1) {
        for (const port of processes.keys()) await restart(port);
        await restartProjector();
        ledger.expectNoFaults();
        seen.push(ledger.counts.acknowledged);
      }
      await load.stop();
      await ledger.check(balancer.url, key);
      ledger.expectNoFaults();
      expect(ledger.counts.refused + ledger.counts.unread).toBe(0);
      // Otherwise the load stood still, and nothing was shown.
      expect(new Set(seen).size).toBe(ROUNDS);
      tell(`rolling restarts: ${ROUNDS} rounds, 0 failed requests, ${JSON.stringify(ledger.counts)}`);
    },
    (ROUNDS + 2) * MINUTES,
  );

  test('a process that was asked to stop is not ready at once, works on, and ends its connections', async () => {
    const [port = 0] = processes.keys();
    const own = new Client(`http://127.0.0.1:${port}`, key);
    const ended = cluster.end(processes.get(port) as ServiceProcess, 'SIGTERM');
    const asked = performance.now();
    const ready = () => fetch(`http://127.0.0.1:${port}/health/ready`);
    await eventually('it is not ready', async () => (await ready()).status === 503);
    expect(performance.now() - asked).toBeLessThan(1_000);
    expect(((await (await ready()).json()) as { message: string }).message).toContain('the process is stopping');
    let answers = 0;
    for (; performance.now() - asked < DRAIN_MS / 2; answers += 1) {
      const answer = await own.get(`/audit/org/${ORG}`);
      expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
      await delay(50);
    }
    expect(answers).toBeGreaterThan(0);
    await ended;
    expect(performance.now() - asked).toBeGreaterThan(DRAIN_MS - 100);
    await start(port);
  });

  test('a process that starts accepts no connection before it is ready', async () => {
    const [port = 0] = processes.keys();
    await cluster.end(processes.get(port) as ServiceProcess, 'SIGTERM');
    const started = start(port);
    const statuses = new Set<number>();
    let isUp = false;
    void started.then(() => {
      isUp = true;
    });
    while (!isUp) {
      const answer = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined);
      if (answer) statuses.add(answer.status);
      await delay(5);
    }
    await started;
    expect([...statuses].filter((status) => status !== 200)).toEqual([]);
  });
});
