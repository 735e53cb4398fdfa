import type { Kind, Operation } from '../../../contract/kinds.js';
import type { Commands } from '../../command.js';
import { accessReport, permissions } from './access.js';
import { patch, remove, tag, update } from './change.js';
import type { Verb } from './command.js';
import { clone, create } from './create.js';
import { edit } from './edit.js';
import { eventlog } from './eventlog.js';
import { addKey, keys, removeKey } from './keys.js';
import { get, query } from './read.js';

/** The verbs of `svc` for each operation that a kind may offer. */
const VERBS: Readonly<Record<Operation, readonly Verb[]>> = {
  create: [create],
  list: [],
  get: [get],
  edit: [edit, patch, tag, update],
  delete: [remove],
  query: [query],
  eventlog: [eventlog],
  accessreport: [accessReport],
  permissions: [permissions],
  keys: [addKey, keys, removeKey],
};

/** The commands of a kind, by name: a verb for each operation, and its special ones, which take the place of a verb. */
export function commandsOf(kind: Kind, special: Commands = []): Commands {
  const taken = new Set(special.map(wordOf));
  const verbs = [
    ...kind.operations.flatMap((operation) => VERBS[operation]),
    ...(kind.copy === undefined ? [] : [clone]),
  ];
  const common = verbs.map((verb) => verb(kind)).filter((command) => !taken.has(wordOf(command)));
  return [...special, ...common].sort((a, b) => (wordOf(a) < wordOf(b) ? -1 : 1));
}

const wordOf = ({ paths }: Commands[number]): string => paths?.[0]?.at(-1) ?? '';
