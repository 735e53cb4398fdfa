import { Inject, Injectable } from '@nestjs/common';
import type { AuditEvent, Publication } from '../model/audit-event.js';
import { keyedId } from '../platform/ids.js';
import { within } from '../platform/waiting.js';
import { READ_MODEL } from '../read-model/read-model.js';

/** What an Idempotency-Key is unique in, besides the publisher. */
type Scope = Pick<Publication, 'org' | 'contextName'>;

/** What is asked of the read model: an event, and the oldest that it keeps of an organization. */
interface EventReader {
  get(kind: 'auditevent', org: string, id: string): Promise<{ readonly source: string } | undefined>;
  search(
    kind: 'auditevent',
    query: { readonly org: string; readonly filters: readonly []; readonly order: 'received'; readonly limit: 1 },
  ): Promise<{ readonly items: readonly { readonly source: string }[] }>;
}

/** How long a publish waits for the read model to say whether a key belongs to an earlier event. */
const LOOK_UP_MS = 1_000;

/** So many look-ups of a bulk run at once. */
const AT_ONCE = 20;

/** How often an organization that has events from before is looked at again. */
const RECHECK_MS = 60 * 60 * 1_000;

/**
 * The identifier derived from a publisher's Idempotency-Key. The publisher is the principal, so that a retry with
 * another of its keys gives the same. `at`: the place of the event, if a whole bulk has the key.
 */
export function keyedEventId(
  { org, contextName, publisher }: Scope & Pick<Publication, 'publisher'>,
  key: string,
  at?: number,
): string {
  if (publisher.link === undefined) throw new Error('only a principal of an organization publishes');
  const place = at === undefined ? [] : [String(at)];
  return keyedId('event', org, contextName, publisher.link, key, ...place);
}

/** The identifier of an event that is named by the digest of what its publisher sent. */
export function digestEventId(
  { org, contextName, publisher }: Scope & Pick<Publication, 'publisher'>,
  digest: string,
): string {
  if (publisher.link === undefined) throw new Error('only a principal of an organization publishes');
  return keyedId('ingested event', org, contextName, publisher.link, digest);
}

/** The identifier that the key stood for while all publishers of a context shared its keys. */
export function formerEventId({ org, contextName }: Scope, key: string): string {
  return keyedId('event', org, contextName, key);
}

/**
 * Finds events that were recorded while all publishers of a context shared its keys: they keep their identifiers, so that
 * a retry across the upgrade finds the first. An event from before names no publisher. Costs one read of the read model a
 * keyed event, and none in an organization whose oldest event has a publisher. See ADR 19.
 */
@Injectable()
export class FormerEvents {
  /** Organizations without an event from before: there will never be one. */
  private readonly without = new Set<string>();
  /** When the others are looked at again. */
  private readonly recheck = new Map<string, number>();

  constructor(@Inject(READ_MODEL) private readonly model: EventReader) {}

  /** Of these keys, those that stand for an event from before. None if the read model cannot be asked in time. */
  async among(scope: Scope, keys: readonly string[]): Promise<ReadonlySet<string>> {
    if (this.without.has(scope.org)) return NONE;
    const found = this.find(scope, new Set(keys)).catch(() => NONE);
    return within(LOOK_UP_MS, found, NONE);
  }

  private async find(scope: Scope, keys: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    if (!(await this.hasAny(scope.org))) return NONE;
    const found = new Set<string>();
    const left = keys.values();
    const worker = async () => {
      for (const key of left) if (await this.isFormer(scope, key)) found.add(key);
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, keys.size) }, worker));
    return found;
  }

  /** Whether the organization may have an event from before. */
  private async hasAny(org: string): Promise<boolean> {
    if (performance.now() < (this.recheck.get(org) ?? 0)) return true;
    const { items } = await this.model.search('auditevent', { org, filters: [], order: 'received', limit: 1 });
    const [oldest] = items;
    if (oldest && isFromBefore(oldest.source)) {
      this.recheck.set(org, performance.now() + RECHECK_MS);
      return true;
    }
    this.recheck.delete(org);
    if (oldest) this.without.add(org);
    return false;
  }

  private async isFormer(scope: Scope, key: string): Promise<boolean> {
    const event = await this.model.get('auditevent', scope.org, formerEventId(scope, key));
    return event !== undefined && isFromBefore(event.source);
  }
}

function isFromBefore(event: string): boolean {
  return (JSON.parse(event) as AuditEvent).context.publisher === undefined;
}

const NONE: ReadonlySet<string> = new Set();
