import { refOf } from './short-name.js';

/** An event's subject and publisher. Anything may be missing; nothing is believed to be what it should be. */
interface Named {
  context?: { publisher?: unknown };
  subject?: { email?: unknown; name?: unknown } | null;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : value == null ? '' : String(value));

/**
 * Who did it, as the event says. If its publisher is somebody else, a star in front says so, where no cut takes it
 * away, and the publisher follows: `*ann@example.com (by ci)`. Older events name no publisher and are shown as they are.
 */
export function whoOf({ context, subject }: Named): string {
  const said = text(subject?.email) || text(subject?.name);
  const publisher = context?.publisher;
  if (typeof publisher !== 'object' || publisher === null) return said;
  const { link, keyId } = publisher as { link?: unknown; keyId?: unknown };
  // The root key is of no organization and has no link.
  const { kind, ref } = link === undefined ? { kind: '', ref: text(keyId) } : refOf(text(link));
  if (said === '') return `*- (by ${ref})`;
  const same = kind === 'user' ? text(subject?.email).toLowerCase() === ref : !text(subject?.email) && said === ref;
  return same ? said : `*${said} (by ${ref})`;
}
