import { type ControlEvent, linksNamedIn, type NamingKind, type Read, type States } from './control-events.js';

type Resources = Pick<States, 'user' | 'group' | 'policy'>;

const KINDS: readonly (keyof Resources)[] = ['user', 'group', 'policy'];

/** The state as it will be after the events, as far as users, groups and policies are concerned. */
export function readAfter(read: Read, events: readonly ControlEvent[]): Read {
  const states = new Map<string, Resources[keyof Resources] | undefined>();
  for (const event of events) {
    if (!isOfResources(event)) continue;
    states.set(event.stream, event.type.endsWith('-deleted') ? undefined : event.data);
  }
  const changed = new Set(events.flatMap((event) => (isOfResources(event) ? [event.data.id] : [])));
  const after = (stream: string) => (states.has(stream) ? states.get(stream) : read(stream as never)) as never;
  const isKept = (state: States[keyof States]) => !('id' in state) || !changed.has(state.id);
  const added = (kind: keyof States) =>
    [...states].flatMap(([stream, state]) => (state && stream.startsWith(`${kind}/`) ? [state] : []));
  return Object.assign(after, {
    all: (kind: keyof States, org: string) => [...read.all(kind, org).filter(isKept), ...added(kind)] as never,
    naming: (kind: NamingKind, link: string) => {
      const named = added(kind).filter((state) => linksNamedIn(state).has(link)) as States[NamingKind][];
      return [...read.naming(kind, link).filter(isKept), ...named].sort(byName) as never;
    },
    keysOf: read.keysOf,
  });
}

function byName({ name: one }: States[NamingKind], { name: other }: States[NamingKind]): number {
  return one < other ? -1 : 1;
}

type ResourceEvent = Extract<ControlEvent, { readonly data: Resources[keyof Resources] }>;

function isOfResources(event: ControlEvent): event is ResourceEvent {
  return KINDS.some((kind) => event.stream.startsWith(`${kind}/`));
}
