import { SERVICE_CONTEXT } from '../contract/kinds.js';
import type { EventLog } from '../event-log/event-log.js';
import { PLACEMENT } from '../model/placement.js';
import { type Clock, isoTime } from '../platform/clock.js';
import type { Ids } from '../platform/ids.js';
import { untilDone } from '../platform/retry.js';
import { controlEntry } from './record.js';
import type { ControlState } from './state.js';

/**
 * Records where identifiers count, unless the log says it already: among the partitions that `audit` has now. Resolves
 * when this process's fold has it, or the signal aborts. Of several processes the first record holds.
 */
export async function placeIdentifiers(
  log: EventLog,
  state: ControlState,
  ids: Ids,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  await state.startReached;
  const place = async () => {
    if (state.read(PLACEMENT)) return;
    const from = await log.head('audit');
    const commandId = ids.next();
    const record = {
      commandId,
      at: isoTime(clock.now()),
      by: { name: SERVICE_CONTEXT, requestId: commandId, remoteIp: '' },
      expected: { [PLACEMENT]: 0 },
      events: [
        {
          type: 'identifiers-placed',
          stream: PLACEMENT,
          data: { partitions: Object.keys(from).length, from },
        } as const,
      ],
    };
    await log.append([controlEntry(record)]);
    await state.confirm();
  };
  // The log or its answers may be late.
  while (!signal.aborted && !state.read(PLACEMENT)) await untilDone(signal, place, () => undefined);
}
