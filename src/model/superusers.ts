import type { ControlEvent, Read } from './control-events.js';
import { isLive } from './key-life.js';
import { ControlRefusal } from './refusal.js';
import { groupStream } from './streams.js';

/** The group that may do everything in its organization. */
export const SUPERUSERS = 'superusers';

/**
 * Throws `builtin_resource` where the events would take the last live key from the superusers: nobody could manage the
 * organization any more. Superusers are the linked members of the group; a key is live that has not expired by `at`. Keys
 * that expire later may still leave none: then the holder of the root key recovers the organization.
 *
 * It looks at keys of others, so the record must change `authz/{org}`, as every record does that issues or revokes a key
 * or changes a group.
 */
export function keepSuperuserKey(read: Read, org: string, at: string, events: readonly ControlEvent[]): void {
  const stream = groupStream(org, SUPERUSERS);
  const edited = events.find((event) => event.type === 'group-edited' && event.stream === stream);
  const revoked = new Set(events.flatMap((event) => (event.type === 'key-revoked' ? [event.stream] : [])));
  if (!edited && revoked.size === 0) return;
  const before = read(stream)?.memberLinks ?? [];
  const after = edited?.type === 'group-edited' ? edited.data.memberLinks : before;
  const hasKey = (links: readonly string[], gone: ReadonlySet<string>) =>
    links.some((link) => read.keysOf(link).some((key) => !gone.has(key.stream) && isLive(key.state, Date.parse(at))));
  if (hasKey(after, revoked) || !hasKey(before, new Set())) return;
  throw new ControlRefusal(
    'builtin_resource',
    `no member of ${SUPERUSERS} would have a valid key any more; issue one to another member first`,
  );
}
