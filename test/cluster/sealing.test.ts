import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { EventLog } from '../../src/event-log/event-log.js';
import { readRange } from '../../src/event-log/read-range.js';
import { systemClock } from '../../src/platform/clock.js';
import { type ChainState, counted } from '../../src/sealing/chain.js';
import { FollowedHistory } from '../../src/sealing/followed-history.js';
import { LoggedNotes } from '../../src/sealing/logged-notes.js';
import type { Sealer } from '../../src/sealing/sealer.js';
import { leafHash } from '../../src/tlog/hash.js';
import { verifyInclusion } from '../../src/tlog/merkle.js';
import { parseServiceEntry } from '../../src/tlog/service-entry.js';
import { EmbeddedTreeStore } from '../../src/tree-store/embedded/tree-store.js';
import type { TreeStore } from '../../src/tree-store/tree-store.js';
import { TreeStores } from '../contract/elasticsearch-trees.harness.js';
import { temporaryFolder } from '../contract/embedded.harness.js';
import { sleep } from '../contract/harness.js';
import { silent } from '../contract/kafka.harness.js';
import { all } from '../contract/tree-store.contract.js';
import { type KafkaProxy, PRODUCE } from '../support/kafka-proxy.js';
import { PATIENCE } from '../support/patience.js';
import { type Random, randomFor } from '../support/random.js';
import { allPublished, eventOf, leading, SignedRoots, sealerFor } from '../support/sealing.js';
import { Seed } from '../support/seed.js';
import { KafkaWorld } from './kafka-support.js';
import { clusterSuite } from './support.js';

const ORGS = Array.from({ length: 12 }, (_, n) => `org-${n}`);
const ROUNDS = Number(process.env.FAULTS_ROUNDS || 15);
const MINUTES = 60_000 * PATIENCE;

/** A process that seals, on connections of its own, and always leads, whoever else does. */
interface Member {
  readonly sealer: Sealer;
  readonly es: ReturnType<TreeStores['open']>['es'];
  readonly proxy: KafkaProxy;
  /** As if the process had been killed: nothing of it reaches anything any more. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Processes that seal one log in Kafka into one index. Everything that any of them signs is noted. */
class World {
  readonly kafka: KafkaWorld;
  readonly stores: TreeStores;
  readonly roots = new SignedRoots();
  readonly history: FollowedHistory;
  private readonly stopping = new AbortController();
  private readonly following: Promise<void>;
  private readonly members: Member[] = [];
  private readonly seed = new Seed();
  private events = 0;

  static async open(brokers: readonly string[], url: string, partitions = 3): Promise<World> {
    const kafka = new KafkaWorld(brokers);
    const log = await kafka.open({ partitions });
    return new World(kafka, new TreeStores(url, log.id), log);
  }

  private constructor(
    kafka: KafkaWorld,
    stores: TreeStores,
    readonly log: EventLog,
  ) {
    [this.kafka, this.stores, stores.hasCuts] = [kafka, stores, true];
    this.seed.org('org-0');
    const { store } = stores.reader();
    this.history = new FollowedHistory({ log, store, origin: undefined, clock: systemClock, logger: silent });
    this.following = this.history.run(this.stopping.signal);
  }

  async member(): Promise<Member> {
    const proxy = await this.kafka.proxy();
    const own = await this.kafka.open({
      partitions: undefined,
      route: () => proxy.address,
      deliveryMs: 1_000,
      requestMs: 1_000,
    });
    const { store, es } = this.stores.open();
    const stop = new AbortController();
    const kept = new LoggedNotes(own, store);
    const sealer = sealerFor(leading(own), store, {
      kept: {
        last: () => kept.last(),
        add: (note) => {
          this.roots.add(note);
          return kept.add(note);
        },
      },
    });
    const running = sealer.run(stop.signal);
    const end = async () => {
      stop.abort();
      await running;
      await own.close();
    };
    const kill = async () => {
      proxy.refuse();
      es.break({ at: 0, when: 'before' });
      await end();
    };
    const member = { sealer, es, proxy, kill, stop: end };
    this.members.push(member);
    return member;
  }

  /** Appends events of random organizations, and sometimes changes of one. */
  async append(random: Random, most = 20): Promise<void> {
    const count = random.whole(1, most);
    const entries = Array.from({ length: count }, (_, n) => eventOf(random.pick(ORGS), this.events + n));
    if (random.chance(0.2)) this.seed.account('org-0', `account-${this.events}`);
    this.events += count;
    await this.log.append([...entries, ...this.seed.take()]);
  }

  /** Resolves when readers are told that everything is published. */
  async published(): Promise<void> {
    for (const deadline = Date.now() + MINUTES; Date.now() < deadline; await sleep(5)) {
      const diverged = this.members.map(({ sealer }) => sealer.status.diverged).find((reason) => reason);
      if (diverged) throw new Error(diverged);
      const heads = { audit: await this.log.head('audit'), control: await this.log.head('control') };
      if ((await this.history.vkeys()).length > 0 && this.history.lagMs(heads) === 0) return;
    }
    throw new Error('the log was not sealed in time');
  }

  /** How many of the cuts in the log count, and how many are void. */
  async cuts(): Promise<{ counted: number; voided: number }> {
    let state: ChainState | undefined;
    const cuts = { counted: 0, voided: 0 };
    const end = await this.log.head('checkpoints');
    for await (const { records } of readRange(this.log, 'checkpoints', {}, end, AbortSignal.timeout(MINUTES))) {
      for (const record of records) {
        const found = counted(state, record);
        if (found) state = found.state;
        if (record.key === 'cut') cuts[found ? 'counted' : 'voided'] += 1;
      }
    }
    return cuts;
  }

  /** Throws if two notes contradict each other, or one does not agree with the trees; returns how many were signed. */
  async consistent(): Promise<number> {
    const { store } = this.stores.open();
    for await (const { number } of store.heads()) this.roots.add((await store.published(number))?.note ?? '');
    return this.roots.check(store, this.history.origins);
  }

  async remove(): Promise<void> {
    await Promise.all(this.members.map((member) => member.stop()));
    this.stopping.abort();
    await this.following;
    await this.kafka.close();
    await this.stores.destroy();
  }
}

/** What every organization ends with. */
async function headsOf(store: TreeStore): Promise<object[]> {
  return (await all(store.heads())).map(({ root, ...head }) => ({ ...head, root: root.toString('base64') }));
}

clusterSuite('sealing in a cluster', ({ kafkaBrokers, elasticsearchUrl }) => {
  const it = (name: string, body: (world: World) => Promise<void>, partitions?: number) =>
    test(
      name,
      async () => {
        const world = await World.open(kafkaBrokers, elasticsearchUrl, partitions);
        await body(world).finally(() => world.remove());
      },
      3 * MINUTES,
    );

  for (const partitions of [1, 3, 12]) {
    it(
      `seals ${partitions} partitions with the roots that the embedded store has of the same records`,
      async (world) => {
        const random = randomFor(`partitions ${partitions}`);
        const folder = await temporaryFolder();
        await world.member();
        for (let round = 0; round < 8; round += 1) {
          await world.append(random, 60);
          await world.published();
        }
        const trees = EmbeddedTreeStore.open({
          file: join(folder, 'tlog.db'),
          log: world.log.id,
          onReplaced: () => undefined,
        });
        const stop = new AbortController();
        const sealer = sealerFor(leading(world.log), trees);
        const running = sealer.run(stop.signal);
        await allPublished(sealer, world.log);
        stop.abort();
        await running;

        const { store } = world.stores.open();
        expect(await headsOf(trees)).toEqual(await headsOf(store));
        expect(await trees.progress()).toEqual(await store.progress());
        expect((await store.progress())?.n).toBeGreaterThan(1);
        await trees.close();
        await rm(folder, { recursive: true });
      },
      partitions,
    );
  }

  it('shows every process what was published, with the proof of each organization', async (world) => {
    await world.member();
    await world.append(randomFor('followed'), 100);
    await world.published();
    const { store } = world.stores.open();

    const position = (await world.log.head('audit'))[0] ?? 0;
    const place = { topic: 'audit', partition: 0, offset: position - 1 } as const;
    expect(await world.history.sealed(place, 0)).toBe(true);
    expect(await world.history.sealed({ ...place, offset: position }, 20)).toBe(false);
    expect(await world.history.vkeys()).toHaveLength(1);
    for await (const { number } of store.heads()) {
      const proof = await world.history.headProof(number);
      if (!proof) throw new Error(`no proof of organization ${number}`);
      const { directory } = parseServiceEntry(proof.entry);
      verifyInclusion(leafHash(Buffer.from(proof.checkpoint)), number, proof.orgs, proof.directoryPath, directory);
      expect((await store.published(number))?.note.startsWith(proof.checkpoint)).toBe(true);
    }
    expect(await world.history.headProof(10_000)).toBeUndefined();
  });

  it('makes one history when several processes lead at once', async (world) => {
    const random = randomFor('races');
    for (let count = 0; count < 3; count += 1) await world.member();
    // On a machine that is idle they may take turns by chance: it goes on until two of them have cut at once.
    for (let round = 0; round < ROUNDS || (await world.cuts()).voided === 0; round += 1) {
      await world.append(random);
      if (random.chance(0.4)) await world.published();
    }
    await world.published();

    const cuts = await world.cuts();
    expect(cuts.voided).toBeGreaterThan(0);
    expect((await world.stores.open().store.progress())?.n).toBe(cuts.counted);
    tell(`${cuts.counted} cuts count, ${cuts.voided} are void; ${await world.consistent()} signed notes agree`);
  });

  it('makes one history when answers to what it appends are lost', async (world) => {
    const random = randomFor('lost answers');
    let [answers, lost] = [0, 0];
    for (let count = 0; count < 2; count += 1) {
      const { proxy } = await world.member();
      proxy.onAnswer = (apiKey) => {
        if (apiKey !== PRODUCE) return undefined;
        answers += 1;
        if (answers % 3 !== 0) return undefined;
        lost += 1;
        return 'drop';
      };
    }
    for (let round = 0; round < ROUNDS; round += 1) {
      await world.append(random);
      await world.published();
    }

    const cuts = await world.cuts();
    expect(lost).toBeGreaterThan(0);
    expect((await world.stores.open().store.progress())?.n).toBe(cuts.counted);
    tell(
      `${lost} answers lost: ${cuts.counted} cuts count, ${cuts.voided} are void; ${await world.consistent()} notes agree`,
    );
  });

  it('goes on wherever a process is killed', async (world) => {
    const random = randomFor('kills');
    for (let round = 0; round < ROUNDS; round += 1) {
      const member = await world.member();
      await world.append(random);
      if (random.chance(0.3)) await world.published();
      // Some die at a request to Elasticsearch, some while they do something else.
      else member.es.break({ at: random.whole(0, 30), when: random.pick(['before', 'after']) });
      await sleep(random.whole(0, 400));
      await member.kill();
    }
    await world.member();
    await world.append(random);
    await world.published();

    const cuts = await world.cuts();
    expect((await world.stores.open().store.progress())?.n).toBe(cuts.counted);
    tell(
      `${ROUNDS} kills: ${cuts.counted} cuts count, ${cuts.voided} are void; ${await world.consistent()} notes agree`,
    );
  });

  it('makes the same trees again when the index is lost, at any moment', async (world) => {
    const random = randomFor('losses');
    for (let count = 0; count < 2; count += 1) await world.member();
    for (let round = 0; round < ROUNDS; round += 1) {
      await world.append(random);
      if (random.chance(0.5)) await world.published();
      if (random.chance(0.5)) await world.stores.wipe();
      await sleep(random.whole(0, 100));
    }
    await world.append(random);
    await world.published();
    const { store } = world.stores.open();
    const before = await headsOf(store);
    await world.stores.wipe();
    await world.append(random, 1);
    await world.published();

    const { counted: cuts } = await world.cuts();
    const after = await headsOf(world.stores.open().store);
    expect(after).toHaveLength(before.length);
    expect((await world.stores.open().store.progress())?.n).toBe(cuts);
    tell(`${cuts} cuts, made again after losses; ${await world.consistent()} notes agree`);
  });

  it('ignores what somebody else appends to checkpoints', async (world) => {
    const random = randomFor('foreign');
    await world.member();
    await world.append(random);
    await world.published();
    const { hash = Buffer.alloc(0), n = 0 } = (await world.stores.open().store.progress()) ?? {};
    const prev = hash.toString('base64');
    const cut = {
      kind: 'cut',
      n: n + 1,
      prev,
      size: n + 1,
      at: 0,
      complete: Number.MAX_SAFE_INTEGER,
      orgs: 1,
      root: '',
    };
    const foreign = [null, 7, [], 'text', {}, { kind: 'cut' }, { ...cut, next: null }, { ...cut, next: 'x' }];
    for (const headers of [{ v: '1' }, { v: 'x' }, {}]) {
      await world.log.append(
        [...foreign.map((value) => JSON.stringify(value)), '{', ''].flatMap((text) =>
          ['cut', 'note', 'x'].map((key) => ({
            topic: 'checkpoints' as const,
            key,
            headers: headers as Record<string, string>,
            value: Buffer.from(text),
          })),
        ),
      );
    }
    await world.append(random);
    await world.published();

    expect(await world.consistent()).toBeGreaterThan(0);
  });
});

/** A number that nobody sees persuades nobody. */
function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}
