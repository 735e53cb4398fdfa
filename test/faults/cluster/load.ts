import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../support/random.js';
import { type Answer, bodyOf, Client, type Event } from '../client.js';
import { removeCompiled } from '../process.js';
import { type Cluster, MINUTES } from './cluster.js';
import { bodyFor, type Ledger, ORG, PUBLISH, type Sent } from './ledger.js';

export interface LoadOptions {
  /** The api processes; every request goes to one of them. */
  readonly urls: readonly string[];
  readonly key: string;
  readonly ledger: Ledger;
  readonly random: Random;
  readonly clients?: number;
  /** How long a client rests between its requests at most. */
  readonly restMs?: number;
  /** Clients rest while more than this is acknowledged. */
  readonly perSecond?: number;
}

/** Codes of refusals that an outage explains; `no answer` where a process is killed. */
export type Excuse =
  | ('log_unavailable' | 'outcome_unknown' | 'read_model_unavailable' | 'state_unconfirmed')
  | ('not_ready' | 'no answer');

/** Concurrent clients that write in every way, and look at once for what they are told is found. */
export class Load {
  /** Refusals that are no faults at the moment; all others, and requests without an answer, are. */
  readonly excused = new Set<Excuse>();
  private static readonly active = new Set<Load>();
  private ended = false;
  private count = 0;
  private running: Promise<unknown> = Promise.resolve();
  private static runs = 0;
  private readonly run = ++Load.runs;

  constructor(private readonly options: LoadOptions) {}

  start(): this {
    const { clients = 6 } = this.options;
    Load.active.add(this);
    this.running = Promise.all(Array.from({ length: clients }, () => this.client()));
    return this;
  }

  /** Resolves when the last request is answered. */
  async stop(): Promise<void> {
    this.ended = true;
    await this.running;
    Load.active.delete(this);
  }

  /** After a test that failed before it could. */
  static async stopAll(): Promise<void> {
    await Promise.all([...Load.active].map((load) => load.stop()));
  }

  private async client(): Promise<void> {
    const { random, restMs = 20, perSecond = Number.POSITIVE_INFINITY, ledger } = this.options;
    const [start, before] = [performance.now(), ledger.counts.acknowledged];
    const isAhead = () => (ledger.counts.acknowledged - before) * 1_000 > (performance.now() - start) * perSecond;
    while (!this.ended) {
      if (!isAhead()) await this.act();
      await delay(random.whole(0, restMs));
    }
  }

  private act(): Promise<unknown> {
    const chance = this.options.random();
    if (chance < 0.4) return this.publish(this.make(), 'false');
    if (chance < 0.55) return this.publish(this.make(), 'true');
    if (chance < 0.85) return this.keyed();
    return this.bulk();
  }

  private make(keyed = false): Sent {
    const marker = `${this.run}-${this.count}`;
    this.count += 1;
    const resource = `r/${this.run}/${Math.floor(this.count / 10)}`;
    return this.options.ledger.add(marker, resource, keyed ? `key ${marker}` : undefined);
  }

  private client1(): Client {
    return new Client(this.options.random.pick(this.options.urls), this.options.key);
  }

  private async publish(sent: Sent, async: 'true' | 'false'): Promise<void> {
    const { ledger } = this.options;
    const answer = await this.send(sent, bodyFor(sent), async);
    if (answer?.status === 201 || answer?.status === 202) {
      ledger.acknowledge(sent, bodyOf<{ id: string }>(answer).id);
      ledger.counts[answer.status === 201 ? 'searchable' : 'recorded'] += 1;
      if (async === 'true' && answer.status === 201) ledger.faults.push(`${sent.marker}: 201 for async`);
      if (answer.status === 201) await this.find(sent);
    } else if (answer && this.excuse(answer)) {
      const code = codeOf(answer);
      ledger.counts.refused += 1;
      if (code === 'log_unavailable' && sent.key === undefined) sent.refused = true;
    } else if (answer) ledger.faults.push(`${sent.marker} was answered ${answer.status} ${answer.text}`);
  }

  /** Twice at once, on any processes, and then another event with the same key. */
  private async keyed(): Promise<void> {
    const { random, ledger } = this.options;
    const sent = this.make(true);
    const mode = () => random.pick(['true', 'false', 'false'] as const);
    await Promise.all([this.publish(sent, mode()), this.publish(sent, mode())]);
    if (sent.ids.size === 0) return;
    const other = { marker: `other than ${sent.marker}`, resource: sent.resource };
    const answer = await this.send(sent, bodyFor(other), 'false');
    // Recorded, but not looked at in time: 202. Never found.
    if (answer?.status === 409) ledger.counts.conflicts += 1;
    else if (answer && answer.status !== 202 && !this.excuse(answer)) {
      ledger.faults.push(`${sent.marker} with another body was answered ${answer.status} ${answer.text}`);
    }
  }

  private async bulk(): Promise<void> {
    const { random, ledger } = this.options;
    const items = Array.from({ length: random.whole(1, 30) }, () => this.make());
    const answer = await this.request(() => this.client1().post(`${PUBLISH}/-bulk?async=true`, items.map(bodyFor)));
    if (!answer) return;
    if (answer.status !== 200) {
      if (this.excuse(answer)) ledger.counts.refused += 1;
      else ledger.faults.push(`a bulk was answered ${answer.status} ${answer.text}`);
      return;
    }
    const { items: results } = bodyOf<{ items: { index: number; status: number; id?: string }[] }>(answer);
    for (const { index, status, id } of results) {
      const sent = items[index];
      if (sent && status === 202 && id !== undefined) ledger.acknowledge(sent, id);
      else if (status !== 503 || this.excused.size === 0) ledger.faults.push(`item ${index} of a bulk: ${status}`);
    }
  }

  /** What was answered with 201 is found at once, everywhere. */
  private async find({ ids: [id], resource, marker }: Sent): Promise<void> {
    const { ledger } = this.options;
    const byId = await this.request(() => this.client1().get(`/audit/org/${ORG}/id/${id}`));
    if (byId?.status !== 200) this.missed(`${id} (${marker}) was answered 201, by id`, byId);
    const list = `/audit/org/${ORG}/resource/name/${encodeURIComponent(resource)}?pageSize=1000`;
    const answer = await this.request(() => this.client1().get(list));
    if (answer?.status !== 200) return this.missed(`${id} (${marker}) was answered 201, by list`, answer);
    const times = bodyOf<{ items: Event[] }>(answer).items.filter((event) => event.id === id).length;
    if (times !== 1) ledger.faults.push(`${id} (${marker}) was answered 201 and is listed ${times} times`);
  }

  private missed(what: string, answer: Answer | undefined): void {
    const { ledger } = this.options;
    if (answer && this.excuse(answer)) ledger.counts.unread += 1;
    else if (answer) ledger.faults.push(`${what}: ${answer.status} ${answer.text}`);
  }

  private send({ key }: Sent, body: object, async: 'true' | 'false'): Promise<Answer | undefined> {
    const headers = key === undefined ? {} : { 'idempotency-key': key };
    return this.request(() => this.client1().post(`${PUBLISH}?async=${async}`, body, headers));
  }

  private async request(send: () => Promise<Answer>): Promise<Answer | undefined> {
    try {
      return await send();
    } catch (error) {
      if (!this.excused.has('no answer'))
        this.options.ledger.faults.push(`a request had no answer: ${(error as Error).cause ?? error}`);
      return undefined;
    }
  }

  private excuse(answer: Answer): boolean {
    return answer.status === 503 && this.excused.has(codeOf(answer) as Excuse);
  }
}

export function codeOf(answer: Answer): string {
  return bodyOf<{ code?: string }>(answer).code ?? '';
}

/** Ends the load and the processes of each test after it. */
export function endAfterEach(cluster: () => Cluster): void {
  afterEach(async () => {
    await Load.stopAll();
    await cluster().remove();
  }, 3 * MINUTES);
  afterAll(removeCompiled);
}
