import type { StoredDocument } from '../../read-model/document.js';
import type { KindName } from '../../read-model/kinds.js';
import type { Generation, ScanRange } from '../../read-model/read-model.js';
import { patiently } from './catch-up.js';

/** Few enough that a page does not keep anything else waiting, where reading is done in this process. */
const PAGE = 250;

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
    const range: ScanRange = { ...stretch, limit: PAGE, ...(after && { after }) };
    const page = await patiently(signal, () => generation.scan(kind, range));
    if (page.length > 0) yield page;
    if (page.length < PAGE) return;
    after = page.at(-1);
  }
}
