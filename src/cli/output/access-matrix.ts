import type { Terminal } from '../terminal.js';
import { escapeLine } from './escape.js';
import { type Column, TablePrinter } from './table.js';
import { listOf, objectOf, shortName, textOf } from './values.js';

interface Grant {
  readonly who: string;
  readonly via: string;
  readonly policy: string;
}

export interface Permission {
  readonly name: string;
  readonly grants: readonly Grant[];
}

/** How a permission is held: its letter in the matrix, and what it means. */
const WAYS: ReadonlyMap<string, readonly [letter: string, meaning: string]> = new Map([
  ['direct', ['D', 'named in the policy']],
  ['group', ['G', 'member of a group that is named in the policy']],
  ['query', ['Q', 'matches the query of a group that is named in the policy']],
]);

/** `G2` before `G10`. */
const BY_NUMBER = new Intl.Collator('en', { numeric: true });

/** The permissions of an access report, each with who has it. */
export function readAccess(report: string): Permission[] {
  const { permissions } = objectOf(JSON.parse(report));
  return listOf(permissions)
    .map(objectOf)
    .map(({ name, bindings }) => ({
      name: textOf(name),
      grants: listOf(bindings)
        .map(objectOf)
        .map(({ principalLink, via, policyLink }) => ({
          who: shortName(textOf(principalLink)),
          via: textOf(via),
          policy: shortName(textOf(policyLink)).replace(/^policy\//, ''),
        })),
    }));
}

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)].sort();

/** Everybody who has any of the permissions. */
export const principalsOf = (permissions: readonly Permission[]): string[] =>
  distinct(permissions.flatMap(({ grants }) => grants.map(({ who }) => who)));

/**
 * Shows what each principal may do: as a matrix with a legend on a terminal that is wide enough, otherwise as a list by
 * permission whose lines make sense alone.
 */
export async function showAccess(
  terminal: Terminal,
  permissions: readonly Permission[],
  principals: readonly string[],
): Promise<void> {
  const shown = new Set(principals);
  const access = permissions.map(({ name, grants }) => ({ name, grants: grants.filter(({ who }) => shown.has(who)) }));
  if (!terminal.isTTY || principals.length === 0) return printList(terminal, access);
  const policies = distinct(access.flatMap(({ grants }) => grants.map(({ policy }) => policy)));
  const matrix = new TablePrinter(terminal, matrixColumns(access, policies));
  if (!(await matrix.fits(principals))) return printList(terminal, access);
  await matrix.print(principals);
  const lines = ['', ...legend(access, policies)];
  await terminal.out(lines.map((line) => `${escapeLine(line)}\n`).join(''));
}

/** A row is a principal; a cell says how, and by which policies, it has the permission. */
function matrixColumns(access: readonly Permission[], policies: readonly string[]): Column<string>[] {
  const columns = access.map(({ name, grants }): Column<string> => {
    const cells = new Map<string, Set<string>>();
    for (const { who, via, policy } of grants) {
      const cell = `${WAYS.get(via)?.[0] ?? via}${policies.indexOf(policy) + 1}`;
      cells.set(who, (cells.get(who) ?? new Set()).add(cell));
    }
    const cellOf = (who: string) => [...(cells.get(who) ?? [])].sort(BY_NUMBER.compare).join(' ');
    return { header: name, value: cellOf, style: (who) => (cells.has(who) ? 'green' : 'dim') };
  });
  return [{ header: 'WHO', value: (who) => who }, ...columns];
}

function legend(access: readonly Permission[], policies: readonly string[]): string[] {
  const found = new Set(access.flatMap(({ grants }) => grants.map(({ via }) => via)));
  const ways = [...WAYS].filter(([via]) => found.has(via)).map(([, [letter, meaning]]) => `${letter}  ${meaning}`);
  return [...ways, ...policies.map((policy, index) => `${index + 1}  policy ${policy}`)];
}

type ListedGrant = Partial<Grant> & { readonly permission: string };

const LIST: readonly Column<ListedGrant>[] = [
  { header: 'PERMISSION', value: ({ permission }) => permission },
  { header: 'WHO', value: ({ who = '' }) => who },
  { header: 'HOW', value: ({ via = '' }) => via },
  { header: 'POLICY', value: ({ policy = '' }) => policy, shrinks: true },
];

const byWho = (one: Grant, other: Grant): number => Number(one.who > other.who) - Number(one.who < other.who);

/** Also lists permissions that nobody has. */
async function printList(terminal: Terminal, access: readonly Permission[]): Promise<void> {
  const rows = access.flatMap(({ name: permission, grants }): ListedGrant[] => {
    if (grants.length === 0) return [{ permission }];
    return grants.map((grant) => ({ permission, ...grant })).sort(byWho);
  });
  await new TablePrinter(terminal, LIST).print(rows);
}
