import { linkTo } from '../contract/links.js';
import type { Read, States } from './control-events.js';
import type { KeyState } from './key.js';

/** The resources that are read one by one and in lists, each under its own kind. */
export type ViewKind = Exclude<keyof States, 'key' | 'authz'>;

export type View = Readonly<Record<string, unknown>>;

/** What the service itself needs, and nobody sees. */
const INTERNAL = [
  'org',
  'codeHash',
  'groupId',
  'inviter',
  'inviterId',
  'hiddenBefore',
  'deniedHiddenBefore',
  'superusers',
];

/** The resource as callers see it, in every answer alike. */
export function viewOf<Kind extends ViewKind>(kind: Kind, state: States[Kind], read: Read): View {
  const shown = publicPart(state);
  const href = hrefOf(kind, state);
  const links = href === undefined ? {} : { links: [{ rel: 'self', href }] };
  return { kind, ...shown, ...keysOf(state, kind, read), ...links };
}

export function publicPart(state: object): View {
  return Object.fromEntries(Object.entries(state).filter(([name]) => !INTERNAL.includes(name)));
}

/** A service account shows which keys it has, and nothing that would help to use them. */
function keysOf(state: object, kind: ViewKind, read: Read): View {
  if (kind !== 'serviceaccount' || !('name' in state && 'org' in state)) return {};
  const keys = read.keysOf(linkTo(String(state.org), 'serviceaccount', String(state.name)));
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

/** What names a resource within its organization and kind, in paths and in the read model. */
export function refOf(kind: ViewKind, state: States[ViewKind]): string {
  if (kind === 'user' && 'email' in state) return state.email;
  return kind === 'invitation' || !('name' in state) ? state.id : state.name;
}

/** Audit contexts are read on the audit API, which gives their links itself. */
function hrefOf(kind: ViewKind, state: States[ViewKind]): string | undefined {
  if (kind === 'auditctx') return undefined;
  if (kind === 'org') return `/org/${refOf(kind, state)}`;
  return 'org' in state ? linkTo(state.org, kind, refOf(kind, state)) : undefined;
}
