import type { ControlEvent, Read, States } from './control-events.js';

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
  return Object.assign(after, {
    all: (kind: keyof States, org: string) => {
      const kept = read.all(kind, org).filter((state) => !('id' in state) || !changed.has(state.id));
      const added = [...states].flatMap(([stream, state]) => (state && stream.startsWith(`${kind}/`) ? [state] : []));
      return [...kept, ...added] as never;
    },
    keysOf: read.keysOf,
  });
}

type ResourceEvent = Extract<ControlEvent, { readonly data: Resources[keyof Resources] }>;

function isOfResources(event: ControlEvent): event is ResourceEvent {
  return KINDS.some((kind) => event.stream.startsWith(`${kind}/`));
}
