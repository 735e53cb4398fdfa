import { bodyOf, Client, type Event } from '../client.js';
import { eventually } from './cluster.js';

/** An event that was sent, perhaps several times. */
export interface Sent {
  /** Stands in the event's data. */
  readonly marker: string;
  /** The name of its resource. */
  readonly resource: string;
  readonly key?: string;
  /** Every identifier that an acknowledgement named. */
  readonly ids: Set<string>;
  /** The log said that it did not take it. */
  refused: boolean;
}

export const ORG = 'acme';
export const PUBLISH = `/audit/org/${ORG}/auditctx/app`;

export function bodyFor({ marker, resource }: Pick<Sent, 'marker' | 'resource'>): object {
  return { resource: { name: resource, type: 'load', data: { marker } } };
}

/** What clients sent, and what they were promised. */
export class Ledger {
  readonly sent = new Map<string, Sent>();
  /** Answers that may not be given, and promises that were broken. */
  readonly faults: string[] = [];
  readonly counts = { acknowledged: 0, searchable: 0, recorded: 0, conflicts: 0, refused: 0, unread: 0 };

  add(marker: string, resource: string, key?: string): Sent {
    const sent: Sent = { marker, resource, ...(key !== undefined && { key }), ids: new Set(), refused: false };
    this.sent.set(marker, sent);
    return sent;
  }

  acknowledge(sent: Sent, id: string): void {
    if (sent.ids.size === 0) this.counts.acknowledged += 1;
    sent.ids.add(id);
    if (sent.ids.size > 1) this.faults.push(`${sent.marker} was given several ids: ${[...sent.ids].join(', ')}`);
  }

  get acknowledged(): Sent[] {
    return [...this.sent.values()].filter(({ ids }) => ids.size > 0);
  }

  expectNoFaults(): void {
    if (this.faults.length === 0) return;
    // What comes later is judged on its own.
    const faults = this.faults.splice(0);
    throw new Error(`${faults.length} faults:\n  ${faults.slice(0, 10).join('\n  ')}`);
  }

  /** Waits until everything acknowledged is listed, then holds the whole list and each event to what was promised. */
  async check(url: string, key: string, waitMs = 60_000): Promise<void> {
    const client = new Client(url, key);
    const all = () => client.all(`/audit/org/${ORG}?order=received&pageSize=1000&contextName=app`);
    const listed = await eventually(
      'everything acknowledged is listed',
      async () => {
        const events = await all();
        const ids = new Set(events.map(({ id }) => id));
        const missing = this.acknowledged.filter((sent) => [...sent.ids].some((id) => !ids.has(id)));
        if (missing.length > 0) throw new Error(`${missing.length}, such as ${[...(missing[0]?.ids ?? [])].join()}`);
        return events;
      },
      waitMs,
    ).catch(async (error: Error) => {
      this.faults.push(`${error.message}: ${(error.cause as Error)?.message}`);
      return all();
    });
    this.checkListed(listed);
    await this.checkById(client);
    this.expectNoFaults();
  }

  private checkListed(listed: readonly Event[]): void {
    const ids = new Set<string>();
    const markers = new Set<string>();
    for (const { id, resource } of listed) {
      const marker = String(resource.data?.marker);
      const sent = this.sent.get(marker);
      if (!sent) this.faults.push(`${id} was never sent, or refused: ${marker}`);
      else if (sent.refused && sent.ids.size === 0) this.faults.push(`${marker} is there, though the log refused it`);
      else if (sent.ids.size > 0 && !sent.ids.has(id)) this.faults.push(`${marker} is there as ${id}`);
      if (ids.has(id)) this.faults.push(`${id} is there twice`);
      if (markers.has(marker)) this.faults.push(`${marker} is there twice`);
      ids.add(id);
      markers.add(marker);
    }
  }

  private async checkById(client: Client): Promise<void> {
    const queue = this.acknowledged.values();
    const worker = async () => {
      for (const { ids, marker } of queue) {
        const [id] = ids;
        const answer = await client.get(`/audit/org/${ORG}/id/${id}`);
        const found = answer.status === 200 && bodyOf<{ item: Event }>(answer).item.resource.data?.marker;
        if (found !== marker) this.faults.push(`${id} (${marker}) was acknowledged, now: ${answer.status} ${found}`);
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
  }
}
