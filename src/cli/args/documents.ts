import { type Member, members } from '../../client/json-text.js';
import { UsageError } from '../output/failures.js';
import type { Kind } from './kinds.js';

/** What the service says of a resource by itself: no file that creates one can choose it. */
const ASSIGNED = new Set([
  'kind',
  'id',
  'version',
  'created',
  'lastModified',
  'links',
  'status',
  'origin',
  'idp',
  'keys',
]);

/** The members of a resource's JSON text that say what it is to be, in their order. */
export const wanted = (resource: string): Member[] => members(resource).filter(({ name }) => !ASSIGNED.has(name));

/** Throws `UsageError` for a document that says it is of another kind. */
export function checkKind(document: string, kind: Kind): void {
  const said = members(document).findLast(({ name }) => name === 'kind')?.raw;
  if (said === undefined || said === JSON.stringify(kind.name)) return;
  throw new UsageError(`the file is of kind ${said}, not "${kind.name}"`);
}
