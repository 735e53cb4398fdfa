import { newOrg, type Org, pointers } from '../support/api.js';
import fc from '../support/fast-check.js';
import { type Resource, Resources } from '../support/resources.js';
import { startService, type TestService } from '../support/service.js';
import { seeded } from './arbitraries.js';

let service: TestService;
let org: Org;
let groups: Resources;

const ACCOUNTS = ['robot-a', 'robot-b', 'robot-c'];

beforeAll(async () => {
  service = await startService();
  org = await newOrg(service);
  groups = new Resources(org, 'group');
  for (const name of ACCOUNTS) await new Resources(org, 'serviceaccount').create({ name });
});

afterAll(() => service.remove());

const linkOf = (name: string) => `/org/${org.name}/serviceaccount/${name}`;

interface Query {
  readonly kind?: string;
  readonly fetch?: string;
  readonly spec?: { readonly match?: string; readonly terms?: readonly unknown[] };
}

/** What can be said of a group; members by the names of their accounts. */
interface Group {
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly members: readonly string[];
  readonly query?: Query;
}

const optional = <T extends object>(members: { [Key in keyof T]: fc.Arbitrary<T[Key]> }) =>
  fc.record(members, { requiredKeys: [], noNullPrototype: true });
const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 4, nil: null });

const name = fc.constantFrom('a', 'b', 'c d', 'toString', '𝛼');
const text = fc.constantFrom('', 'x', 'y z', 'ä/~"\\', '😀');
const members = fc.array(fc.constantFrom(...ACCOUNTS), { maxLength: 4 });
const terms = fc.array(
  fc.constantFrom({ property: 'email', value: 'a' }, { op: '!exists', tag: 'a' }, { rel: 'group', value: 'b' }),
  { maxLength: 2 },
);
const match = fc.constantFrom('all', 'any', 'none');

const document = optional({
  description: text,
  tags: fc.dictionary(name, text, { maxKeys: 3, noNullPrototype: true }),
  members,
  query: fc.record({ kind: fc.constant('user'), spec: optional({ match, terms }) }, { noNullPrototype: true }),
});

const patch = optional({
  description: orNull(text),
  tags: orNull(fc.dictionary(name, orNull(text), { maxKeys: 3, noNullPrototype: true })),
  members: orNull(fc.oneof(members, optional({ $append: members, $drop: members, $replace: members }))),
  query: orNull(
    optional({
      kind: orNull(fc.constant('user')),
      spec: orNull(optional({ match: orNull(match), terms: orNull(terms) })),
    }),
  ),
});
type Patch = typeof patch extends fc.Arbitrary<infer One> ? One : never;

/** What the API's operators and RFC 7396 make of the group, said in other words; undefined where it is no group then. */
function expected(
  before: Group,
  called: string,
  { description, tags, members: change, query }: Patch,
): Group | undefined {
  const after = {
    description: description === undefined ? before.description : (description ?? called),
    tags: tags === null ? {} : onlyTexts({ ...before.tags, ...tags }),
    members: membersAfter(before.members, change),
  };
  if (query === null) return after;
  if (query === undefined) return before.query ? { ...after, query: before.query } : after;
  const kind = query.kind === undefined ? before.query?.kind : query.kind;
  const spec = query.spec === undefined ? before.query?.spec : query.spec;
  if (!kind || !spec) return undefined;
  const old = before.query?.spec;
  return {
    ...after,
    query: {
      kind,
      fetch: 'items',
      spec: {
        match: (spec.match === undefined ? old?.match : spec.match) ?? 'all',
        terms: (spec.terms === undefined ? old?.terms : spec.terms) ?? [],
      },
    },
  };
}

function onlyTexts(tags: Readonly<Record<string, string | null>>): Record<string, string> {
  return Object.fromEntries(Object.entries(tags).filter((tag): tag is [string, string] => tag[1] !== null));
}

function membersAfter(before: readonly string[], change: Patch['members']): readonly string[] {
  if (change === undefined) return before;
  if (change === null) return [];
  if (Array.isArray(change)) return [...new Set(change)];
  const { $append = [], $drop = [], $replace = before } = change as Record<string, readonly string[]>;
  const after = new Set($replace);
  for (const member of $drop) after.delete(member);
  for (const member of $append) after.add(member);
  return [...after];
}

/** As the API says it. */
function sent({ members: change, query, ...rest }: Patch): Record<string, unknown> {
  const links = (names: readonly string[]) => names.map(linkOf);
  const memberLinks =
    change === null || change === undefined
      ? change
      : Array.isArray(change)
        ? links(change)
        : Object.fromEntries(
            Object.entries(change as Record<string, string[]>).map(([op, names]) => [op, links(names)]),
          );
  return {
    ...rest,
    ...(memberLinks !== undefined && { memberLinks }),
    ...(query !== undefined && { memberQuery: query }),
  };
}

function shown({ description, tags, memberLinks, memberQuery }: Resource): unknown {
  const names = (memberLinks as readonly string[]).map((link) => link.slice(link.lastIndexOf('/') + 1));
  return { description, tags, members: names, ...(memberQuery !== undefined && { query: memberQuery }) };
}

let made = 0;

test('what is read after patches is what they amount to, in 150 runs', async () => {
  const seen = { changed: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(document, fc.array(patch, { minLength: 1, maxLength: 4 }), async (first, patches) => {
      made += 1;
      const called = `group-${made}`;
      const created = await groups.create({ name: called, ...sent(first) });
      expect(created.status).toBe(201);
      const empty: Group = { description: called, tags: {}, members: [] };
      let group = expected(empty, called, first) as Group;
      for (const one of patches) {
        const answer = await groups.patch(called, sent(one));
        const after = expected(group, called, one);
        seen[after ? 'changed' : 'refused'] += 1;
        if (!after) expect(pointers(answer)[0]).toMatch(/^\/memberQuery/);
        group = after ?? group;
        expect(answer.status).toBe(after ? 200 : 400);
        const read = await groups.get(called);
        expect(shown(read.body)).toEqual(group);
        if (after) expect(answer.body).toEqual(read.body);
      }
    }),
    seeded(150),
  );
  expect(Math.min(seen.changed, seen.refused)).toBeGreaterThan(20);
});
