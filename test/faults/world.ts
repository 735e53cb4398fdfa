import { isDeepStrictEqual } from 'node:util';
import { type Answer, bodyOf, type Event, type Resource } from './client.js';

/** An event that was sent, once or several times, answered or not. */
export interface Sent {
  readonly round: number;
  readonly org: string;
  readonly context: string;
  /** Stands in the event's data: tells the event apart where its identifier is not known. */
  readonly marker: string;
  readonly resource: Resource & { readonly name: string };
  readonly idempotencyKey?: string;
  /** Every identifier that an acknowledgement of it named. */
  readonly ids: Set<string>;
}

export interface SentOrg {
  readonly name: string;
  readonly idempotencyKey?: string;
}

/** What the clients know: what they sent, and what the service promised them. */
export class World {
  /** Acknowledged organizations and their keys. */
  readonly orgs = new Map<string, string>();
  /** Organizations whose making was not answered. */
  readonly lostOrgs = new Set<SentOrg>();
  readonly sent = new Map<string, Sent>();
  /** Answers that the service may not give, and promises that it broke. */
  readonly faults: string[] = [];
  readonly counts = { acknowledged: 0, unanswered: 0, recordedUnanswered: 0, retries: 0, conflicts: 0, startKills: 0 };

  acknowledge(sent: Sent, id: string): void {
    if (sent.ids.size === 0) this.counts.acknowledged += 1;
    else this.counts.retries += 1;
    sent.ids.add(id);
    if (sent.ids.size > 1) this.faults.push(`${sent.marker} was given several ids: ${[...sent.ids].join(', ')}`);
  }

  /** Takes the answer to one event. */
  take(sent: Sent, answer: Answer): void {
    if (answer.status === 201 || answer.status === 202) this.acknowledge(sent, bodyOf<{ id: string }>(answer).id);
    else this.faults.push(`${sent.marker} was answered ${answer.status} ${answer.text}`);
  }

  takeOrg(sent: SentOrg, answer: Answer): void {
    if (answer.status === 201) this.orgs.set(sent.name, bodyOf<{ key: string }>(answer).key);
    else this.faults.push(`organization ${sent.name} was answered ${answer.status} ${answer.text}`);
  }

  ofRound(round: number): Sent[] {
    return [...this.sent.values()].filter((sent) => sent.round === round);
  }

  /** Whether the event is one that was sent, as it was sent, under the identifier that was promised. */
  check(event: Event, org: string): void {
    const sent = this.sent.get(String(event.resource.data?.marker));
    const wrong = !sent
      ? 'was never sent'
      : sent.org !== org || sent.context !== event.context.name
        ? `was sent to ${sent.org}/${sent.context}`
        : !isDeepStrictEqual(event.resource, sent.resource)
          ? `was sent as ${JSON.stringify(sent.resource).slice(0, 500)}`
          : sent.ids.size > 0 && !sent.ids.has(event.id)
            ? `was acknowledged as ${[...sent.ids].join(', ')}`
            : undefined;
    if (wrong) this.faults.push(`${org}: ${event.id} ${JSON.stringify(event.resource).slice(0, 500)} ${wrong}`);
  }
}
