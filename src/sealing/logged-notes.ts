import type { EventLog } from '../event-log/event-log.js';
import { parseCheckpoint } from '../tlog/checkpoint.js';
import type { TreeStore } from '../tree-store/tree-store.js';
import { checkpointEntry } from './chain.js';
import type { KeptNotes } from './kept-notes.js';

/**
 * The notes of several processes: each is in `checkpoints` before it is shown, which tells the others to look for it, and the
 * last one that was shown is in the store that they share.
 */
export class LoggedNotes implements KeptNotes {
  constructor(
    private readonly log: EventLog,
    private readonly store: TreeStore,
  ) {}

  async last(): Promise<string | undefined> {
    return (await this.store.published('service'))?.note;
  }

  async add(note: string): Promise<void> {
    const { size } = parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1));
    await this.log.append([checkpointEntry({ kind: 'note', n: size, note })]);
  }
}
