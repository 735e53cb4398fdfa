import type { Offsets, Topic } from '../../event-log/event-log.js';
import type { Position, StoredDocument } from '../../read-model/document.js';
import { KIND_NAMES, type KindName } from '../../read-model/kinds.js';
import type { ReadModel, StrayRange } from '../../read-model/read-model.js';
import { patiently } from './catch-up.js';

type Heads = Readonly<Partial<Record<Topic, Offsets>>>;

const PAGE = 1_000;

/** Topics that no document comes from. */
const WITHOUT_DOCUMENTS: Heads = { 'audit.dead': {}, progress: {} };

/**
 * Visits documents that say they come from a place that the log does not have. The log may grow while they are looked for,
 * so its heads are asked for once more before one is believed.
 */
export async function visitStrays(
  model: Pick<ReadModel, 'strays'>,
  heads: () => Promise<Heads>,
  signal: AbortSignal,
  visit: (kind: KindName, document: StoredDocument) => Promise<void>,
): Promise<void> {
  for (const kind of KIND_NAMES) {
    let range: StrayRange | undefined = { limit: PAGE };
    while (range) {
      const at: StrayRange = range;
      const before = { ...WITHOUT_DOCUMENTS, ...(await patiently(signal, heads)) };
      const { documents, next } = await patiently(signal, () => model.strays(kind, before, at));
      const after = documents.length > 0 ? await patiently(signal, heads) : {};
      for (const document of documents) {
        if (!isInLog(document.place, after)) await visit(kind, document);
      }
      range = next === undefined ? undefined : { limit: PAGE, after: next };
    }
  }
}

function isInLog({ topic, partition, offset }: Position, heads: Heads): boolean {
  return offset >= 0 && offset < (heads[topic]?.[partition] ?? 0);
}
