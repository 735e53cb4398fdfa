import { setTimeout as delay } from 'node:timers/promises';
import { randomOf, SEED } from '../../support/random.js';
import { Client } from '../client.js';
import type { ServiceProcess } from '../process.js';
import { Cluster, eventually, faultSuite, MINUTES, ROOT_KEY, ROUNDS, report } from './cluster.js';
import { bodyFor, Ledger, ORG, PUBLISH } from './ledger.js';
import { endAfterEach, Load } from './load.js';

faultSuite('projectors that come and go', () => {
  let cluster: Cluster;
  let urls: string[];
  let key: string;
  beforeEach(async () => {
    cluster = new Cluster();
    const projector = cluster.spawn('projector');
    urls = await cluster.apis(2);
    await projector.listening;
    key = (await new Client(urls[0] ?? '', ROOT_KEY).org(ORG)).key;
    projectors = [projector];
  }, 3 * MINUTES);
  endAfterEach(() => cluster);
  let projectors: ServiceProcess[];

  /** The projectors have shared the partitions out, and carry on with every one of them. */
  const recovered = (ledger: Ledger, round: number) =>
    Promise.all(
      Array.from({ length: 6 }, (_, at) =>
        eventually('a publish is found at once again', async () => {
          const sent = ledger.add(`${round}/${at}/${Date.now()}`, `recovered ${at}`);
          const answer = await new Client(urls[0] ?? '', key).post(PUBLISH, bodyFor(sent));
          ledger.acknowledge(sent, JSON.parse(answer.text).id);
          return answer.status === 201;
        }),
      ),
    );

  test(
    'killed at any moment: everything acknowledged is there once, and found at once when so answered',
    async () => {
      const ledger = new Ledger();
      const random = randomOf(SEED);
      const load = new Load({ urls, key, ledger, random }).start();
      for (let round = 1; round <= ROUNDS; round += 1) {
        await delay(random.whole(200, 2_500));
        const [victim] = projectors.splice(random.whole(0, projectors.length - 1), 1);
        if (victim) await cluster.end(victim, 'SIGKILL');
        // The other one may be killed next, before the group has missed the first.
        while (projectors.length < 1 + (round % 2)) projectors.push(cluster.spawn('projector'));
        await recovered(ledger, round);
        ledger.expectNoFaults();
      }
      await load.stop();
      await ledger.check(urls[1] ?? '', key);
      report(`projector killed: ${ROUNDS} of ${ROUNDS} rounds, ${JSON.stringify(ledger.counts)}`);
      expect(ledger.counts.searchable).toBeGreaterThan(ROUNDS);
    },
    ROUNDS * MINUTES + MINUTES,
  );

  test(
    'joining and leaving: whatever is answered 201 is found at once',
    async () => {
      const ledger = new Ledger();
      const random = randomOf(SEED + 1);
      const load = new Load({ urls, key, ledger, random }).start();
      const turns = Math.min(10, ROUNDS);
      for (let turn = 1; turn <= turns; turn += 1) {
        const leaves = projectors.length > 1 && (projectors.length > 3 || random.chance(0.5));
        const [leaver] = leaves ? projectors.splice(random.whole(0, projectors.length - 1), 1) : [];
        if (leaver) await cluster.end(leaver, 'SIGTERM');
        else projectors.push(cluster.spawn('projector'));
        await recovered(ledger, turn);
        await delay(random.whole(0, 1_000));
        ledger.expectNoFaults();
      }
      await load.stop();
      await ledger.check(urls[1] ?? '', key);
      report(`projectors joining and leaving: ${turns} of ${turns}, ${JSON.stringify(ledger.counts)}`);
    },
    10 * MINUTES,
  );
});
