import { turnOfTheLoop } from '../../platform/waiting.js';
import type { Position, Write } from '../../read-model/document.js';
import type { KindName } from '../../read-model/kinds.js';
import type { Generation } from '../../read-model/read-model.js';
import type { Expirable, Expiry } from '../expiry.js';
import { patiently } from './catch-up.js';
import { scanned } from './scanned.js';

/** Where a document was written, without its content. */
interface Applied extends Expirable {
  readonly kind: KindName;
  readonly org: string;
  readonly id: string;
}

/**
 * Documents that were applied, as its caller was told, and are still to be looked up: that what the log has is there
 * rests on having seen it, not on an answer. Nothing else may write to the generation meanwhile.
 */
export class AppliedWindow {
  /** By identifier: only the last write of it is to be found. */
  private readonly applied = new Map<string, Applied>();

  constructor(
    private readonly generation: Generation,
    private readonly expiry: Expiry,
    private readonly signal: AbortSignal,
  ) {}

  get size(): number {
    return this.applied.size;
  }

  add(write: Write): void {
    const { kind, org, id, place } = write;
    this.applied.set(identifierOf(kind, write), {
      ...{ kind, org, id, place },
      ...(write.op !== 'delete' && { fields: write.fields }),
    });
  }

  /** Looks all of them up, and forgets them. Throws when one is not there that has not expired. */
  async verify(): Promise<void> {
    if (this.applied.size === 0) return;
    await patiently(this.signal, () => this.generation.refresh());
    for (const [kind, range] of rangesOf([...this.applied.values()])) {
      for await (const page of scanned(this.generation, kind, range, this.signal)) {
        for (const document of page) {
          const key = identifierOf(kind, document);
          if (this.applied.get(key)?.place.offset === document.place.offset) this.applied.delete(key);
        }
        await turnOfTheLoop();
      }
    }
    const lost = [...this.applied.values()].find((one) => !this.expiry.has(one.kind, one));
    this.applied.clear();
    if (!lost) return;
    const { topic, partition, offset } = lost.place;
    throw new Error(`the new generation lacks the ${lost.kind} ${lost.id} of ${topic}/${partition}/${offset}`);
  }
}

export function identifierOf(kind: KindName, { org, id }: { readonly org: string; readonly id: string }): string {
  return JSON.stringify([kind, org, id]);
}

type Range = Pick<Position, 'topic' | 'partition'> & { readonly from: number; readonly to: number };

/** The ranges of the log that these documents come from, by kind and partition. */
function rangesOf(applied: readonly Applied[]): (readonly [KindName, Range])[] {
  const ranges = new Map<string, readonly [KindName, Range]>();
  for (const { kind, place } of applied) {
    const { topic, partition, offset } = place;
    const key = `${kind} ${topic}/${partition}`;
    const { from = offset, to = offset + 1 } = ranges.get(key)?.[1] ?? {};
    ranges.set(key, [kind, { topic, partition, from: Math.min(from, offset), to: Math.max(to, offset + 1) }]);
  }
  return [...ranges.values()];
}
