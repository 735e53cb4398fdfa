import { setTimeout as delay } from 'node:timers/promises';
import { parseCheckpoint } from '../../../src/tlog/checkpoint.js';
import { Org } from '../../support/api.js';
import { checkpointed, provenExport, SEALED_OFTEN, verifyProven, vkeyOfLog } from '../../support/proofs.js';
import { randomOf, SEED } from '../../support/random.js';
import { SignedRoots } from '../../support/sealing.js';
import { Client } from '../client.js';
import type { ServiceProcess } from '../process.js';
import { Cluster, eventually, faultSuite, MINUTES, ROOT_KEY, ROUNDS, report } from './cluster.js';
import { Ledger, ORG } from './ledger.js';
import { endAfterEach, Load } from './load.js';

faultSuite('projectors that seal the log', () => {
  let cluster: Cluster;
  let projectors: ServiceProcess[];
  let urls: string[];
  let key: string;
  beforeEach(async () => {
    cluster = new Cluster(SEALED_OFTEN);
    projectors = [cluster.spawn('projector')];
    urls = await cluster.apis(2);
    await projectors[0]?.listening;
    key = (await new Client(urls[0] ?? '', ROOT_KEY).org(ORG)).key;
  }, 3 * MINUTES);
  endAfterEach(() => cluster);

  /** Notes what both processes show of both logs, again and again; calls back with each note of the organization's. */
  async function watch(roots: SignedRoots, saw: (note: string) => void, until: AbortSignal): Promise<void> {
    for (; !until.aborted; await delay(20)) {
      for (const url of urls) {
        const ofService = await new Client(url, ROOT_KEY).get('/audit/-tlog/checkpoint');
        const ofOrg = await new Client(url, key).get(`/audit/org/${ORG}/-tlog/checkpoint`);
        for (const { status, text } of [ofService, ofOrg]) if (status === 200) roots.add(text);
        if (ofOrg.status === 200) saw(ofOrg.text);
      }
    }
  }

  test(
    'killed at any moment: nothing signed is contradicted, and everything acknowledged is proven',
    async () => {
      const [ledger, roots, random] = [new Ledger(), new SignedRoots(), randomOf(SEED)];
      const [stop, load] = [new AbortController(), new Load({ urls, key, ledger, random }).start()];
      const notes = new Set<string>();
      const watching = watch(roots, (note) => notes.add(note), stop.signal);
      for (let round = 1; round <= ROUNDS; round += 1) {
        await delay(random.whole(100, 2_500));
        const [victim] = projectors.splice(random.whole(0, projectors.length - 1), 1);
        if (victim) await cluster.end(victim, 'SIGKILL');
        while (projectors.length < 1 + (round % 2)) projectors.push(cluster.spawn('projector'));
        const known = notes.size;
        await Promise.race([watching, eventually('the next checkpoint', async () => notes.size > known)]);
        ledger.expectNoFaults();
      }
      await load.stop();
      await ledger.check(urls[1] ?? '', key);
      const [org, other] = urls.map((url) => new Org(url, ORG, key)) as [Org, Org];
      await checkpointed(org);
      stop.abort();
      await watching;

      const vkey = await vkeyOfLog(other);
      const earlier = Array.from({ length: 10 }, () => random.pick([...notes]));
      for (const note of [[...notes][0] ?? '', ...earlier]) {
        const { size } = parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1));
        const proven = await provenExport(random.pick([org, other]), { pinned: `${size}` });
        const { events } = await verifyProven(proven, vkey, { pinned: [note] });
        const text = proven.events.toString();
        expect(ledger.acknowledged.filter(({ ids }) => !text.includes([...ids][0] ?? '-'))).toEqual([]);
        expect(events).toBeGreaterThanOrEqual(ledger.acknowledged.length);
      }
      report(
        `projector killed while it seals: ${ROUNDS} of ${ROUNDS} rounds, ${notes.size} checkpoints, ${ledger.acknowledged.length} events proven`,
      );
    },
    ROUNDS * MINUTES + MINUTES,
  );
});
