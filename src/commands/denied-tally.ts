import { GRAVITIES, type Gravity } from '../model/gravity.js';
import { BoundedEntries } from '../platform/bounded-entries.js';

const MOST_KEPT = 200;
const MOST_TOLD = 10;

/** What attempts have in common that are counted together. */
export interface DeniedGroup {
  readonly gravity: Gravity;
  /** Link. */
  readonly principal: string;
  readonly kind: string;
  readonly permission: string;
  readonly address: string;
}

interface Counted extends DeniedGroup {
  attempts: number;
}

export interface DeniedSummary {
  /** How many attempts were not recorded one by one. */
  readonly unrecorded: number;
  /** Of whom, for want of what, from where: the gravest first, then the most frequent. */
  readonly by: readonly Counted[];
  /** How many are not among those. */
  readonly others: number;
}

/** Counts the attempts of one organization that are not recorded one by one, in bounded memory. */
export class DeniedTally {
  private total = 0;
  private others = 0;
  private readonly groups = new BoundedEntries<Counted>(MOST_KEPT, byWeight, ({ attempts }) => {
    this.others += attempts;
  });

  add(group: DeniedGroup, attempts = 1): void {
    this.total += attempts;
    const { gravity, principal, kind, permission, address } = group;
    const counted = this.groups.of(likenessOf(group), () => ({
      ...{ principal, kind, permission, address, gravity },
      attempts: 0,
    }));
    counted.attempts += attempts;
  }

  /** Ends the tally. */
  summary(): DeniedSummary {
    const by = this.groups.first(MOST_TOLD).map(([, counted]) => counted);
    return { unrecorded: this.total, by, others: this.others };
  }

  /** Takes in a summary that could not be recorded. */
  takeBack({ by, others }: DeniedSummary): void {
    for (const { attempts, ...group } of by) this.add(group, attempts);
    this.total += others;
    this.others += others;
  }
}

export function likenessOf({ gravity, principal, kind, permission, address }: DeniedGroup): string {
  return JSON.stringify([gravity, principal, kind, permission, address]);
}

function byWeight(one: Counted, other: Counted): number {
  return GRAVITIES.indexOf(one.gravity) - GRAVITIES.indexOf(other.gravity) || other.attempts - one.attempts;
}
