import type { Kind, Operation } from '../../../contract/kinds.js';
import type { Loads } from '../../command.js';
import type { Verb } from './command.js';

type LoadVerb = () => Promise<Verb>;

/** The verbs of `svc` for each operation that a kind may offer. */
const VERBS: Readonly<Record<Operation, Readonly<Record<string, LoadVerb>>>> = {
  create: { create: async () => (await import('./create.js')).create },
  list: {},
  get: { get: async () => (await import('./read.js')).get },
  edit: {
    edit: async () => (await import('./edit.js')).edit,
    patch: async () => (await import('./change.js')).patch,
    tag: async () => (await import('./change.js')).tag,
    update: async () => (await import('./change.js')).update,
  },
  delete: { delete: async () => (await import('./change.js')).remove },
  query: { query: async () => (await import('./read.js')).query },
  eventlog: { eventlog: async () => (await import('./eventlog.js')).eventlog },
  accessreport: { 'access-report': async () => (await import('./access.js')).accessReport },
  permissions: { permissions: async () => (await import('./access.js')).permissions },
  keys: {
    'add-key': async () => (await import('./keys.js')).addKey,
    keys: async () => (await import('./keys.js')).keys,
    'remove-key': async () => (await import('./keys.js')).removeKey,
  },
};

const COPY: Readonly<Record<string, LoadVerb>> = { clone: async () => (await import('./create.js')).clone };

/** The commands of a kind by name: the verbs of each operation. */
export function verbsOf(kind: Kind): Loads {
  const verbs = Object.assign({}, ...kind.operations.map((one) => VERBS[one]), kind.copy === undefined ? {} : COPY);
  return Object.fromEntries(
    Object.entries(verbs as Record<string, LoadVerb>).map(([word, load]) => [word, async () => (await load())(kind)]),
  );
}
