import type { Offsets, Topic } from '../event-log/event-log.js';
import type { Place, StoredDocument } from '../read-model/document.js';
import { KIND_NAMES, type KindName } from '../read-model/kinds.js';
import type { ReadModel } from '../read-model/read-model.js';
import { patiently } from './job.js';

type Heads = Readonly<Partial<Record<Topic, Offsets>>>;

export const MOST_STRAYS = 1_000;

/** Topics that no document comes from. */
const WITHOUT_DOCUMENTS: Heads = { 'audit.dead': {}, progress: {} };

/**
 * Visits documents that say they come from a place that the log does not have: up to 1,000 of a kind. The log may grow
 * while they are looked for, so its heads are asked for once more before one is believed.
 */
export async function visitStrays(
  model: Pick<ReadModel, 'strays'>,
  heads: () => Promise<Heads>,
  signal: AbortSignal,
  visit: (kind: KindName, document: StoredDocument) => Promise<void>,
): Promise<void> {
  for (const kind of KIND_NAMES) {
    const before = { ...WITHOUT_DOCUMENTS, ...(await patiently(signal, heads)) };
    const found = await patiently(signal, () => model.strays(kind, before, MOST_STRAYS));
    if (found.length === 0) continue;
    const after = await patiently(signal, heads);
    for (const document of found) {
      if (!isInLog(document.place, after)) await visit(kind, document);
    }
  }
}

function isInLog({ topic, partition, offset }: Place, heads: Heads): boolean {
  return offset >= 0 && offset < (heads[topic]?.[partition] ?? 0);
}
