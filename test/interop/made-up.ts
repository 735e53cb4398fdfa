import type { Random } from '../support/random.js';
import { type SampleExport, SampleHistory, START_MS } from '../support/tlog-export.js';

export interface MadeUp {
  readonly history: SampleHistory;
  readonly files: SampleExport;
  readonly pinned: string | undefined;
  readonly pinnedSize: number;
}

/** A history of two cuts, with some leaves closed and lines out of order. */
export async function madeUp(random: Random): Promise<MadeUp> {
  const history = new SampleHistory({ org: `org-${random.whole(0, 99)}` });
  history.publish(random.whole(20, 60));
  const pinned = await history.cut();
  const pinnedSize = history.leaves.length;
  history.publish(random.whole(1, 80));
  await history.cut();
  const expired = random.whole(1, 15);
  const order = history.leaves.map((_, leaf) => leaf);
  for (let at = 1; at < order.length; at += 1) if (random.chance(0.2)) order.splice(at - 1, 0, ...order.splice(at, 1));
  const absent = (leaf: number) => (leaf % 22 === 7 ? 'duplicate' : leaf % 22 === 18 ? 'unindexed' : undefined);
  const closed = (leaf: number) => (leaf < expired ? 'expired' : absent(leaf));
  return { history, files: history.export({ order, closed, dividedAt: pinnedSize }), pinned, pinnedSize };
}

/** Its history with other events in it, signed with the same key. */
export async function forged({ history, pinnedSize }: MadeUp): Promise<SampleExport> {
  const other = new SampleHistory({ org: history.origin.split('/')[3] ?? '' });
  other.publish(pinnedSize - 1);
  other.publish(history.leaves.length - pinnedSize + 1, START_MS + 1);
  await other.cut();
  return other.export();
}
