import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { bodyOf, Client, type Event } from './client.js';
import { makeOrg, publish } from './load.js';
import type { Sent, World } from './world.js';

const SERVICE_CONTEXT = 'svc';

/** Everything of one organization that was ever listed in the order received. */
interface Listed {
  resume: string;
  readonly events: Event[];
}

/** Holds the service to what it promised before it was killed. */
export class Promises {
  private readonly listed = new Map<string, Listed>();

  constructor(private readonly world: World) {}

  /** Sends again, with its key, what had no answer; a client that cannot know does the same. */
  async retryLost(url: string, rootKey: string, round: number): Promise<void> {
    const admin = new Client(url, rootKey);
    for (const sent of this.world.lostOrgs) {
      const answer = await makeOrg(admin, sent);
      // Without a key to retry by, the organization may be there already, and its key is lost.
      if (answer.status === 409 && sent.idempotencyKey === undefined) continue;
      this.world.takeOrg(sent, answer);
    }
    this.world.lostOrgs.clear();
    for (const sent of this.world.ofRound(round)) {
      if (sent.ids.size > 0 || sent.idempotencyKey === undefined) continue;
      this.world.take(sent, await publish(this.client(url, sent.org), sent, 'false'));
    }
  }

  /** What was acknowledged last is indexed last: a service that serves too early lacks it. */
  async checkNewest(url: string, round: number): Promise<void> {
    const acknowledged = this.world.ofRound(round).filter(({ ids }) => ids.size > 0);
    await inParallel(acknowledged.slice(-20).reverse(), (one) => this.checkById(url, one));
  }

  async checkRound(url: string, round: number): Promise<void> {
    const sent = this.world.ofRound(round);
    await this.checkOrgs(url);
    for (const org of new Set([...sent.map((one) => one.org), ...[...this.world.orgs.keys()].slice(-5)])) {
      await this.listOn(url, org);
    }
    const acknowledged = sent.filter(({ ids }) => ids.size > 0);
    await inParallel(acknowledged, (one) => this.checkById(url, one));
    const lists = Map.groupBy(acknowledged, ({ org, resource }) => JSON.stringify([org, resource.name]));
    await inParallel([...lists.values()], (ofResource) => this.checkList(url, ofResource));
    for (const org of new Set(acknowledged.map((one) => one.org))) {
      const listed = this.listed.get(org)?.events ?? [];
      this.checkOnce(
        'order=received',
        org,
        listed.map(({ id }) => id),
        acknowledged.filter((one) => one.org === org),
      );
    }
    this.world.counts.recordedUnanswered += this.unanswered(round);
  }

  /** Reads everything again from the first page on. */
  async checkAll(url: string): Promise<void> {
    await this.checkOrgs(url);
    for (const org of this.world.orgs.keys()) {
      await this.listOn(url, org);
      const all = await this.client(url, org).all(`/audit/org/${org}?order=received&pageSize=1000`);
      const ids = (service: boolean, events: readonly Event[]) =>
        events.filter(({ context }) => (context.name === SERVICE_CONTEXT) === service).map(({ id }) => id);
      for (const service of [true, false]) {
        // What was ever seen stays, and nothing gets in before it; events of two topics may interleave anew.
        if (isDeepStrictEqual(ids(service, all), ids(service, this.listed.get(org)?.events ?? []))) continue;
        this.world.faults.push(`${org}: the whole list differs from the pages that were read over time`);
      }
      const sent = [...this.world.sent.values()].filter((one) => one.org === org && one.ids.size > 0);
      this.checkOnce(
        'order=received',
        org,
        all.map(({ id }) => id),
        sent,
      );
      const markers = all.flatMap(({ resource }) => resource.data?.marker ?? []);
      if (new Set(markers).size < markers.length) this.world.faults.push(`${org}: an event is there twice`);
      const created = all.filter(
        ({ context, resource, action }) =>
          context.name === SERVICE_CONTEXT && resource.type === 'org' && action?.type === 'create',
      );
      if (created.length !== 1) this.world.faults.push(`${org}: was created ${created.length} times`);
    }
  }

  /** Stands for every answer of every list, byte for byte. */
  async digest(url: string): Promise<string> {
    const digest = createHash('sha256');
    for (const org of this.world.orgs.keys()) {
      const client = this.client(url, org);
      for (const query of ['order=received&pageSize=1000', 'pageSize=1000', 'contextName=ops&pageSize=100']) {
        for await (const page of client.pages(`/audit/org/${org}?${query}`)) digest.update(page.text);
      }
      digest.update((await client.get(`/audit/org/${org}/auditctx`)).text);
      digest.update((await client.get(`/org/${org}`)).text);
    }
    return digest.digest('hex');
  }

  private async checkOrgs(url: string): Promise<void> {
    await inParallel([...this.world.orgs.keys()], async (org) => {
      const { status, text } = await this.client(url, org).get(`/org/${org}`);
      if (status !== 200 || !text.includes(`"name":"${org}"`)) {
        this.world.faults.push(`organization ${org} was acknowledged, and now answers ${status} ${text}`);
      }
    });
  }

  /** Goes on with the list in the order received where it stood, perhaps before several kills. */
  private async listOn(url: string, org: string): Promise<void> {
    const listed = this.listed.get(org) ?? { resume: `/audit/org/${org}?order=received&pageSize=300`, events: [] };
    this.listed.set(org, listed);
    for await (const page of this.client(url, org).pages(listed.resume)) {
      for (const event of page.items) if (event.context.name !== SERVICE_CONTEXT) this.world.check(event, org);
      listed.events.push(...page.items);
      listed.resume = page.links.find(({ rel }) => rel === 'resume')?.href ?? listed.resume;
    }
  }

  private async checkById(url: string, sent: Sent): Promise<void> {
    const [id] = sent.ids;
    const answer = await this.client(url, sent.org).get(`/audit/org/${sent.org}/id/${id}`);
    if (answer.status === 200) this.world.check(bodyOf<{ item: Event }>(answer).item, sent.org);
    else this.world.faults.push(`${id} (${sent.marker}) was acknowledged, and now answers ${answer.status}`);
  }

  private async checkList(url: string, sent: readonly Sent[]): Promise<void> {
    const [first] = sent;
    if (!first) return;
    const { org, resource } = first;
    const path = `/audit/org/${org}/resource/name/${encodeURIComponent(resource.name)}`;
    const events = await this.client(url, org).all(`${path}?pageSize=50`);
    for (const event of events) this.world.check(event, org);
    this.checkOnce(
      path,
      org,
      events.map(({ id }) => id),
      sent,
    );
  }

  private checkOnce(list: string, org: string, ids: readonly string[], sent: readonly Sent[]): void {
    const times = new Map<string, number>();
    for (const id of ids) times.set(id, (times.get(id) ?? 0) + 1);
    for (const [id, count] of times) if (count > 1) this.world.faults.push(`${org}: ${list} has ${id} ${count} times`);
    for (const { ids: promised, marker } of sent) {
      for (const id of promised) {
        if (!times.has(id)) this.world.faults.push(`${org}: ${list} lacks ${id} (${marker}), which was acknowledged`);
      }
    }
  }

  /** How many events of the round are there though nobody was told: proof that kills met the service at work. */
  private unanswered(round: number): number {
    const found = new Set([...this.listed.values()].flatMap(({ events }) => events.map(markerOf)));
    return this.world.ofRound(round).filter(({ ids, marker }) => ids.size === 0 && found.has(marker)).length;
  }

  private client(url: string, org: string): Client {
    return new Client(url, this.world.orgs.get(org) ?? '');
  }
}

function markerOf({ resource }: Event): string {
  return String(resource.data?.marker);
}

async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}
