import type { Fields, Position } from '../read-model/document.js';
import { expiryClass } from '../read-model/expiry-class.js';
import type { KindName } from '../read-model/kinds.js';
import type { Retention } from '../read-model/read-model.js';

/** What of a document, stored or to be stored, tells whether it has expired. */
export interface Expirable {
  readonly org: string;
  readonly place: Position;
  readonly fields?: Fields;
}

/** Whether documents have expired by now. What has once expired stays so. */
export class Expiry {
  /** The limits only move forward, so what was hidden by those asked for before is hidden still. */
  private readonly known = new Map<string, ReadonlyMap<string, number>>();

  constructor(private readonly retention: Retention) {}

  has(kind: KindName, document: Expirable): boolean {
    const name = classOf(kind, document);
    if (name === undefined) return false;
    const { org, place } = document;
    const known = this.known.get(`${kind}/${org}`)?.get(name);
    if (known !== undefined && place.time < known) return true;
    const limit = this.limit(kind, document);
    return limit !== undefined && place.time < limit;
  }

  /** Documents whose record the log took before this instant have expired; undefined where they never do. */
  limit(kind: KindName, document: Expirable): number | undefined {
    const name = classOf(kind, document);
    if (name === undefined) return undefined;
    const limits = this.retention.limits(kind, document.org);
    this.known.set(`${kind}/${document.org}`, limits);
    return limits.get(name);
  }
}

function classOf(kind: KindName, { fields }: Expirable): string | undefined {
  return expiryClass(kind, (field) => fields?.[field]);
}
