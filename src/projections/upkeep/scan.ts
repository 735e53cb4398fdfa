import type { Position, StoredDocument } from '../../read-model/document.js';
import { KIND_NAMES, type KindName } from '../../read-model/kinds.js';
import type { Generation, ReadModel, ScanRange, StrayRange } from '../../read-model/read-model.js';
import { type Ends, patiently } from './pace.js';

/** Few enough that a page of an embedded store does not delay other work. */
const SCAN_PAGE = 250;

export type Stretch = Pick<ScanRange, 'topic' | 'partition' | 'from' | 'to'>;

/** The documents of a range, page by page. */
export async function* scanned(
  generation: Pick<Generation, 'scan'>,
  kind: KindName,
  stretch: Stretch,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredDocument[]> {
  let after: StoredDocument | undefined;
  for (;;) {
    const range: ScanRange = { ...stretch, limit: SCAN_PAGE, ...(after && { after }) };
    const page = await patiently(signal, () => generation.scan(kind, range));
    if (page.length > 0) yield page;
    if (page.length < SCAN_PAGE) return;
    after = page.at(-1);
  }
}

const STRAYS_PAGE = 1_000;

/** Topics without documents. */
const WITHOUT_DOCUMENTS: Ends = { 'audit.dead': {}, progress: {}, checkpoints: {} };

/**
 * Visits documents whose position the log does not have. The log may grow during the search, so its heads are read again
 * before a document is visited.
 */
export async function visitStrays(
  model: Pick<ReadModel, 'strays'>,
  heads: () => Promise<Ends>,
  signal: AbortSignal,
  visit: (kind: KindName, document: StoredDocument) => Promise<void>,
): Promise<void> {
  for (const kind of KIND_NAMES) {
    let range: StrayRange | undefined = { limit: STRAYS_PAGE };
    while (range) {
      const at: StrayRange = range;
      const before = { ...WITHOUT_DOCUMENTS, ...(await patiently(signal, heads)) };
      const { documents, next } = await patiently(signal, () => model.strays(kind, before, at));
      const after = documents.length > 0 ? await patiently(signal, heads) : {};
      for (const document of documents) {
        if (!isInLog(document.place, after)) await visit(kind, document);
      }
      range = next === undefined ? undefined : { limit: STRAYS_PAGE, after: next };
    }
  }
}

function isInLog({ topic, partition, offset }: Position, heads: Ends): boolean {
  return offset >= 0 && offset < (heads[topic]?.[partition] ?? 0);
}
