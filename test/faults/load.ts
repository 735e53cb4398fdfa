import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../support/random.js';
import { type Answer, bodyOf, Client } from './client.js';
import type { Sent, SentOrg, World } from './world.js';

const CLIENTS = 6;
/** Enough to keep every commit busy, and few enough to check all of them in about a second. */
const MOST_EVENTS = 400;
/** Newer organizations take part as well; the first takes most. */
const BUSY_ORGS = 3;
const LARGE_BYTES = 100_000;

interface BulkResult {
  readonly items: readonly { readonly index: number; readonly status: number; readonly id?: string }[];
}

/** Concurrent clients that send all kinds of writes until the service is killed, and note what they are promised. */
export class Load {
  private killed = false;
  private powered = true;
  private count = 0;
  private readonly admin: Client;

  constructor(
    private readonly world: World,
    private readonly url: string,
    rootKey: string,
    private readonly round: number,
    private readonly random: Random,
  ) {
    this.admin = new Client(url, rootKey);
  }

  /** Resolves when every client has noticed the end. */
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: CLIENTS }, () => this.client()));
  }

  /** From now on a request without an answer is what a kill may do. */
  end(): void {
    this.killed = true;
  }

  /** From now on a refusal with 503 is what a loss of power may do, too. */
  powerMayFail(): void {
    this.powered = false;
  }

  /** Publishes so many bytes in large events. */
  async large(bytes: number): Promise<void> {
    const events = Array.from({ length: Math.ceil(bytes / LARGE_BYTES) }, () => this.make({ bytes: LARGE_BYTES }));
    await Promise.all(events.map((sent) => this.publish(sent, 'true')));
  }

  private async client(): Promise<void> {
    while (!this.killed) {
      if (this.count < MOST_EVENTS) await this.act();
      await delay(this.random.whole(0, 4));
    }
  }

  private act(): Promise<unknown> {
    const chance = this.random();
    if (chance < 0.25) return this.publish(this.make(), 'false');
    if (chance < 0.55) return this.publish(this.make(), 'true');
    if (chance < 0.8) return this.keyed();
    if (chance < 0.97) return this.bulk();
    return this.org();
  }

  private make({ keyed = false, bytes }: { keyed?: boolean; bytes?: number } = {}): Sent {
    const { random, round } = this;
    const marker = `${round}-${this.count}`;
    this.count += 1;
    const orgs = [...this.world.orgs.keys()].slice(-BUSY_ORGS);
    const size = random.chance(0.8) ? 200 : random.chance(0.8) ? 4_000 : 60_000;
    const text = random.pick(['x', 'ü', '\u0000"', '🜚']).repeat(random.whole(1, size / 4));
    const data = { marker, text: bytes === undefined ? text : random.bytes(bytes / 2).toString('hex') };
    const sent: Sent = {
      round,
      org: random.chance(0.7) ? (orgs[0] ?? '') : random.pick(orgs),
      context: random.pick(['app', 'Billing.v2', 'ops']),
      marker,
      resource: { name: `${round}/é ${random.whole(1, 6)}`, type: 'load', data },
      ...(keyed && { idempotencyKey: `key ${marker}` }),
      ids: new Set(),
    };
    this.world.sent.set(marker, sent);
    return sent;
  }

  private async publish(sent: Sent, async: 'true' | 'false'): Promise<void> {
    const answer = await this.answer(() => publish(this.clientOf(sent), sent, async));
    if (answer) this.world.take(sent, answer);
  }

  /** The same request twice at once, twice in a row, or followed by another one with its key. */
  private async keyed(): Promise<void> {
    const { random } = this;
    const sent = this.make({ keyed: true });
    const mode = () => random.pick(['true', 'false'] as const);
    if (random.chance(0.4)) {
      await Promise.all([this.publish(sent, mode()), this.publish(sent, mode())]);
      return;
    }
    await this.publish(sent, mode());
    if (random.chance(0.4)) await this.publish(sent, mode());
    if (sent.ids.size > 0 && random.chance(0.3)) await this.conflict(sent);
  }

  private async conflict(sent: Sent): Promise<void> {
    const other = { ...sent, resource: { ...sent.resource, data: { marker: `other than ${sent.marker}` } } };
    const answer = await this.answer(() => publish(this.clientOf(sent), other, 'false'));
    if (!answer) return;
    this.world.counts.conflicts += 1;
    if (answer.status !== 409) this.world.faults.push(`${sent.marker} with another body was answered ${answer.status}`);
  }

  private async bulk(): Promise<void> {
    const { random } = this;
    const first = this.make();
    const items = [first];
    for (let more = random.whole(0, random.chance(0.7) ? 9 : 49); more > 0; more -= 1) {
      const { org, context } = first;
      const sent = { ...this.make({ keyed: random.chance(0.3) }), org, context };
      this.world.sent.set(sent.marker, sent);
      items.push(sent);
      // A repetition in the same request: the log takes both in one commit.
      if (sent.idempotencyKey !== undefined && random.chance(0.2)) items.push(sent);
    }
    const bodies = items.map(({ idempotencyKey, resource }) =>
      idempotencyKey === undefined ? { resource } : { idempotencyKey, event: { resource } },
    );
    const ndjson = random.chance(0.5);
    const body = ndjson ? bodies.map((one) => JSON.stringify(one)).join('\n') : bodies;
    const path = `${pathOf(first)}/-bulk?async=${random.pick(['true', 'false'])}`;
    const type = { 'content-type': ndjson ? 'application/x-ndjson' : 'application/json' };
    const answer = await this.answer(() => this.clientOf(first).post(path, body, type));
    if (answer) this.takeBulk(items, answer);
  }

  private takeBulk(items: readonly Sent[], answer: Answer): void {
    if (answer.status !== 200) {
      this.world.faults.push(`a bulk was answered ${answer.status} ${answer.text}`);
      return;
    }
    for (const { index, status, id } of bodyOf<BulkResult>(answer).items) {
      const sent = items[index];
      if (sent && id !== undefined && (status === 201 || status === 202)) this.world.acknowledge(sent, id);
      else if (this.isOfPower(status)) this.world.counts.unanswered += 1;
      else this.world.faults.push(`item ${index} of a bulk was answered ${status} ${answer.text.slice(0, 500)}`);
    }
  }

  private async org(): Promise<void> {
    const name = `o-${this.round}-${this.count}`;
    this.count += 1;
    const sent: SentOrg = { name, ...(this.random.chance(0.5) && { idempotencyKey: `key of ${name}` }) };
    this.world.lostOrgs.add(sent);
    const answer = await this.answer(() => makeOrg(this.admin, sent));
    if (!answer) return;
    this.world.lostOrgs.delete(sent);
    this.world.takeOrg(sent, answer);
  }

  private isOfPower(status: number): boolean {
    return status === 503 && !this.powered;
  }

  private clientOf(sent: Sent): Client {
    return new Client(this.url, this.world.orgs.get(sent.org) ?? '');
  }

  /** Undefined when the service was killed before it answered; at any other time that is a fault. */
  private async answer(request: () => Promise<Answer>): Promise<Answer | undefined> {
    try {
      const answer = await request();
      if (!this.isOfPower(answer.status)) return answer;
      this.world.counts.unanswered += 1;
      return undefined;
    } catch (error) {
      if (this.killed || !this.powered) this.world.counts.unanswered += 1;
      else this.world.faults.push(`a request had no answer: ${(error as Error).cause ?? error}`);
      return undefined;
    }
  }
}

function pathOf({ org, context }: Sent): string {
  return `/audit/org/${org}/auditctx/${context}`;
}

export function publish(client: Client, sent: Sent, async: 'true' | 'false'): Promise<Answer> {
  const { resource, idempotencyKey } = sent;
  const headers = idempotencyKey === undefined ? undefined : { 'idempotency-key': idempotencyKey };
  return client.post(`${pathOf(sent)}?async=${async}`, { resource }, headers);
}

export function makeOrg(admin: Client, { name, idempotencyKey }: SentOrg): Promise<Answer> {
  const headers = idempotencyKey === undefined ? undefined : { 'idempotency-key': idempotencyKey };
  return admin.post('/org', { name }, headers);
}
