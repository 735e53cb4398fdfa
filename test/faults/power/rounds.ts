import { setTimeout as delay } from 'node:timers/promises';
import { PATIENCE } from '../../support/patience.js';
import { type Random, randomOf, SEED } from '../../support/random.js';
import type { Cut } from '../../support/volatile-disk/disk.js';
import { bodyOf, Client } from '../client.js';
import { Load, makeOrg } from '../load.js';
import { Promises } from '../promises.js';
import { World } from '../world.js';
import { Groups } from './groups.js';
import { MOMENTS } from './moments.js';
import { PoweredService } from './powered-service.js';

const ORG = 'first';
const LONGEST_LOAD_MS = 400;
/** A step that does not come within this time is not waited for. */
const LONGEST_WAIT_MS = 2_500;
const NEVER = new Promise<never>(() => undefined);
const RECONCILE_MS = 120_000 * PATIENCE;

interface ReconcileJob {
  readonly state: string;
  readonly report?: { readonly compared: number; readonly differences: Readonly<Record<string, number>> };
}

/**
 * Rounds of load, loss of power and start, on one disk, so that a fault of one round may show in any later one. After each
 * start the service is held to everything that it acknowledged. A round throws if the service does not start.
 */
export class Rounds {
  readonly world = new World();
  readonly service: PoweredService;
  readonly counts = { rounds: 0, starts: 0, pages: 0, survived: 0, torn: 0, names: 0, namesKept: 0, compared: 0 };
  /** How often the power failed at each moment. */
  readonly moments = new Map<string, number>();
  private readonly promises = new Promises(this.world);
  private readonly groups = new Groups(this.world, ORG);
  private url = '';

  constructor(main: string, env: Readonly<Record<string, string>> = {}) {
    this.service = new PoweredService(main, env);
  }

  /** The first starts fail, too. */
  async begin(): Promise<void> {
    const random = randomOf(SEED);
    for (let times = 0; times < 3; times += 1) await this.cutStart(random);
    await this.service.powerOn();
    this.url = await this.service.start();
    this.world.takeOrg({ name: ORG }, await makeOrg(this.admin(), { name: ORG }));
  }

  async round(): Promise<void> {
    const round = this.counts.rounds + 1;
    const random = randomOf(SEED * 200_003 + round);
    await (round === 1 || random.chance(0.1) ? this.killThenCut(round, random) : this.loadUntilCut(round, random));
    while (random.chance(0.25)) await this.cutStart(random);
    await this.service.powerOn();
    if (random.chance(0.1)) this.service.removeReadModel();
    this.url = await this.service.start();
    await this.promises.checkNewest(this.url, round);
    await this.promises.retryLost(this.url, this.service.rootKey(), round);
    await this.promises.checkRound(this.url, round);
    await this.groups.check(this.client());
    await this.reconcile();
    this.counts.rounds = round;
  }

  /** All that was ever acknowledged, over all rounds. */
  async checkAll(): Promise<void> {
    await this.promises.checkAll(this.url);
    await this.groups.check(this.client());
  }

  async backup(): Promise<Uint8Array> {
    const headers = { authorization: `Bearer ${this.service.rootKey()}` };
    return new Uint8Array(await (await fetch(`${this.url}/-backup`, { headers })).arrayBuffer());
  }

  async remove(): Promise<void> {
    await this.service.remove();
  }

  get changes(): number {
    return this.groups.acknowledged;
  }

  private async loadUntilCut(round: number, random: Random): Promise<void> {
    const { service } = this;
    const { name, match, steps = 1, also } = random.pick(MOMENTS);
    const admin = this.admin();
    const load = new Load(this.world, this.url, admin.key, round, random);
    const seed = random.whole(1, 1e9);
    const running = [load.run(), this.groups.change(this.client(), random)];
    await delay(random.whole(5, LONGEST_LOAD_MS));
    load.powerMayFail();
    if (match !== undefined) await service.disk.arm({ match, steps: random.whole(1, steps), seed });
    const done = Promise.resolve(also?.({ service, load, admin, random })).then(nothing, nothing);
    running.push(done);
    await Promise.race([service.disk.cutOff, match === undefined ? done : NEVER, delay(LONGEST_WAIT_MS)]);
    this.count(name, await service.disk.cut(seed));
    // At times the process lives on without its disk: what it says then must be true as well.
    if (random.chance(0.4)) await delay(random.whole(1, 200));
    load.end();
    this.groups.end();
    await service.powerOff();
    await Promise.all(running);
  }

  /**
   * The service is killed between the write of a change and its fsync, starts again, and acknowledges what it finds: then it
   * must be synced. Any other change would sync it as well, so there is none.
   */
  private async killThenCut(round: number, random: Random): Promise<void> {
    const { service } = this;
    const group = { name: `killed-${round}`, description: 'of a start' };
    const create = () => this.client().post(`/org/${ORG}/group`, group, { 'idempotency-key': group.name });
    const stalled = service.disk.stallFsync('^fsync log\\.(records|db-wal)$');
    const lost = create().then(nothing, nothing);
    await Promise.race([stalled, delay(LONGEST_WAIT_MS)]);
    service.process.kill('SIGKILL');
    service.disk.resume();
    await service.process.exit;
    await lost;
    this.url = await service.start();
    const { status, text } = await create();
    if (status !== 201) this.world.faults.push(`${group.name}, tried again, was answered ${status} ${text}`);
    this.groups.acknowledge(group.name, group.description);
    this.count('a start after kill -9', await service.disk.cut(random.whole(1, 1e9)));
    await service.powerOff();
  }

  private async cutStart(random: Random): Promise<void> {
    const steps = random.whole(1, Math.ceil(this.service.stepsOfStart * 1.1));
    const seed = random.whole(1, 1e9);
    this.count('a start', await this.service.cutStart({ match: '.', steps, seed }, random.chance(0.3)));
  }

  private count(moment: string, { pages, survived, torn, names, namesKept, at }: Cut): void {
    const name = at === 'any time' && moment !== at ? `${moment}, at its end` : moment;
    this.moments.set(name, (this.moments.get(name) ?? 0) + 1);
    this.counts.pages += pages;
    this.counts.survived += survived;
    this.counts.torn += torn;
    this.counts.names += names;
    this.counts.namesKept += namesKept;
    if (moment === 'a start') this.counts.starts += 1;
  }

  /** The read model has what the log says, no more and no less. */
  private async reconcile(): Promise<void> {
    const admin = this.admin();
    const started = await admin.post('/-reconcile', {});
    if (started.status !== 202) throw new Error(`POST /-reconcile: ${started.status} ${started.text}`);
    for (const deadline = Date.now() + RECONCILE_MS; ; ) {
      const { state, report } = bodyOf<ReconcileJob>(await admin.get('/-reconcile'));
      if (state === 'done' && report) {
        this.counts.compared += report.compared;
        if (Object.values(report.differences).some((count) => count > 0)) {
          this.world.faults.push(`the read model and the log differ: ${JSON.stringify(report)}`);
        }
        return;
      }
      if (state !== 'running' || Date.now() > deadline) throw new Error(`the reconciliation is ${state}`);
      await delay(20);
    }
  }

  private admin(): Client {
    return new Client(this.url, this.service.rootKey());
  }

  private client(): Client {
    return new Client(this.url, this.world.orgs.get(ORG) ?? '');
  }
}

function nothing(): void {
  // Whether the power failed while it was done or before is all the same.
}
