import { kindOf } from '../contract/kinds.js';
import { linkTo } from '../contract/links.js';
import type { KeyState, Read, States } from './control-events.js';
import { refOf } from './resource-at.js';

/** The resources that are read one by one and in lists, each under its own kind. */
export type ViewKind = Exclude<keyof States, 'key' | 'authz' | 'placement'>;

export type View = Readonly<Record<string, unknown>>;

/** What the service itself needs, and nobody sees. */
const INTERNAL: ReadonlySet<string> = new Set([
  'org',
  'codeHash',
  'groupId',
  'inviter',
  'inviterId',
  'hiddenBefore',
  'deniedHiddenBefore',
  'superusers',
]);

/** The resource as callers see it, the same in every response. */
export function viewOf(kind: ViewKind, state: object, read: Read): View {
  const shown = publicPart(state);
  const href = hrefOf(kind, state);
  const links = href === undefined ? {} : { links: [{ rel: 'self', href }] };
  return { kind, ...shown, ...keysOf(state, kind, read), ...links };
}

export function publicPart(state: object): View {
  const shown: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(state)) if (!INTERNAL.has(name)) shown[name] = value;
  return shown;
}

/** A kind that shows keys shows which keys it has, and nothing that would help to use them. */
function keysOf(state: object, kind: ViewKind, read: Read): View {
  if (kind === 'org' || !kindOf(kind).shown.includes('keys') || !('org' in state)) return {};
  const keys = read.keysOf(linkTo(String(state.org), kind, viewRef(kind, state)));
  return { keys: keys.map(({ state: key }) => keyViewOf(key)) };
}

export function keyViewOf({ id, description, issued, expires, lastUsed }: KeyState): View {
  return {
    id,
    description,
    created: issued,
    ...(expires !== undefined && { expires }),
    ...(lastUsed !== undefined && { lastUsed }),
  };
}

/** What names a resource in its organization and kind, or an organization. */
export function viewRef(kind: ViewKind, state: object): string {
  return kind === 'org' ? (state as States['org']).name : refOf(kindOf(kind), state);
}

/** Audit contexts are read on the audit API, which gives their links itself. */
function hrefOf(kind: ViewKind, state: object): string | undefined {
  if (kind === 'auditctx') return undefined;
  if (kind === 'org') return `/org/${viewRef(kind, state)}`;
  return 'org' in state ? linkTo(String(state.org), kind, viewRef(kind, state)) : undefined;
}
