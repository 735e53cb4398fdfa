import type { FieldFault } from '../contract/errors.js';
import type { Term } from '../model/query.js';

/** What the shape of a query cannot say: a term compares one thing, and with a value where its operator needs one. */
export function specFaults(spec: { readonly terms?: readonly Term[] }, kind: string, pointer: string): FieldFault[] {
  return (spec.terms ?? []).flatMap((term, index) => termFaults(term, kind, `${pointer}/terms/${index}`));
}

function termFaults({ op = '=', property, tag, rel, value }: Term, kind: string, pointer: string): FieldFault[] {
  const faults: FieldFault[] = [];
  const compared = [property, tag, rel].filter((one) => one !== undefined);
  if (compared.length !== 1) faults.push({ pointer, reason: 'requires exactly one of property, tag and rel' });
  const isValueless = op === 'exists' || op === '!exists';
  if (!isValueless && value === undefined) faults.push({ pointer: `${pointer}/value`, reason: 'is required' });
  if (rel === undefined) return faults;
  const known = RELATIONS[kind];
  if (rel !== known)
    faults.push({ pointer: `${pointer}/rel`, reason: known ? `must be ${known}` : 'is not known here' });
  if (op !== '=' && op !== '!=') faults.push({ pointer: `${pointer}/op`, reason: 'must be = or != for a relation' });
  return faults;
}

/** By kind; all other kinds have none. */
const RELATIONS: Readonly<Record<string, string | undefined>> = { user: 'group', group: 'member' };
