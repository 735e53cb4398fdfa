import type { Json } from '../support/api.js';

/** What is made before the queries, in this sequence. Data alone, so that any store can be asked the same. */
export const USERS = [
  { email: 'ann@example.com', name: 'Ann', description: 'Anna', tags: { team: 'red', since: '2020' } },
  { email: 'bob@example.com', name: 'Bob', description: 'Robert', tags: { team: 'blue' } },
  { email: 'cara@example.com', name: 'Cara', description: 'Ärztin', tags: { team: 'red' } },
] as const;

export const ACCOUNTS = [{ name: 'robot', description: 'A robot', tags: { team: 'red' } }] as const;

const byTag = (tag: string, value: string) => ({ kind: 'user', spec: { match: 'all', terms: [{ tag, value }] } });
const byGroup = (value: string) => ({ kind: 'user', spec: { terms: [{ rel: 'group', value }] } });

/** `{org}` stands for the organization. */
export const GROUPS = [
  { name: 'devs', memberLinks: ['/org/{org}/user/ann@example.com', '/org/{org}/serviceaccount/robot'] },
  { name: 'reds', memberQuery: byTag('team', 'red') },
  // Whom another group links, its members are; whom another group finds by query, not.
  { name: 'nested', memberQuery: byGroup('devs') },
  { name: 'circular', memberQuery: byGroup('reds') },
  { name: 'empty', tags: { 'a.b': 'dotted' } },
] as const;

export const DOMAINS = [
  {
    name: 'alpha.example.com',
    description: 'First',
    tags: { tier: 'gold', rank: '9' },
    spec: { acceptAllHosts: true, ports: [{ number: 80 }] },
  },
  {
    name: 'beta.example.com',
    description: 'second',
    tags: { tier: 'Gold', rank: '10', due: '2026-01-01T00:00:00Z' },
    spec: { dnsMode: 'ns', acceptAllHosts: false, ports: [{ number: 443 }] },
  },
  {
    name: 'gamma.example.com',
    description: 'Größe',
    tags: { due: '2026-01-01T02:00:00.000+02:00', late: '2026-01-01' },
    spec: { ports: [{ number: 8080 }, { number: 443 }] },
  },
  { name: 'delta.example.com', description: '', tags: { tier: 'silver', empty: '' }, spec: { ports: [] } },
] as const;

/** What was made, by name or e-mail address. */
export type Made = Readonly<Record<string, { readonly id: string; readonly created: string }>>;

export interface QueryCase {
  readonly kind: 'user' | 'group' | 'domain' | 'serviceaccount' | 'policy';
  readonly what: string;
  readonly spec: Json | ((made: Made) => Json);
  /** Names, of users e-mail addresses, in the sequence of the answer. */
  readonly expected: readonly string[];
}

const ALL_DOMAINS = ['alpha', 'beta', 'delta', 'gamma'];
const ALL_GROUPS = ['circular', 'devs', 'empty', 'nested', 'reds', 'superusers', 'viewers'];
const BY_MEMBER_ANN = ['devs', 'nested', 'reds'];

function domains(what: string, spec: QueryCase['spec'], expected: readonly string[]): QueryCase {
  return { kind: 'domain', what, spec, expected: expected.map((name) => `${name}.example.com`) };
}

function users(what: string, spec: QueryCase['spec'], expected: readonly string[]): QueryCase {
  return { kind: 'user', what, spec, expected: expected.map((name) => `${name}@example.com`) };
}

function groups(what: string, spec: QueryCase['spec'], expected: readonly string[]): QueryCase {
  return { kind: 'group', what, spec, expected };
}

const one = (term: Json): Json => ({ terms: [term] });
const text = (op: string, value: string) => one({ op, property: 'description', value });
const number = (op: string, value: number | string) => one({ op, property: 'spec.ports.0.number', value });
const flag = (op: string, value: boolean | string) => one({ op, property: 'spec.acceptAllHosts', value });
const tag = (op: string, name: string, value?: string | number) =>
  one({ op, tag: name, ...(value !== undefined && { value }) });
const created = (op: string, of: string) => (made: Made) =>
  one({ op, property: 'created', value: made[`${of}.example.com`]?.created ?? '' });
/** The same instant in another time zone. */
const elsewhere = (instant = '') => `${new Date(Date.parse(instant) + 3_600_000).toISOString().slice(0, -1)}+01:00`;

const TEXTS: readonly QueryCase[] = [
  domains('a text is itself', text('=', 'second'), ['beta']),
  domains('the operator is = unless given', one({ property: 'description', value: 'second' }), ['beta']),
  domains('a text is not itself in another case', text('=', 'Second'), []),
  domains('a text is all others', text('!=', 'second'), ['alpha', 'delta', 'gamma']),
  domains('texts are ordered by code point', text('>', 'Größe'), ['beta']),
  domains('texts have an order with equality', text('>=', 'Größe'), ['beta', 'gamma']),
  domains('texts come before', text('<', 'Größe'), ['alpha', 'delta']),
  domains('texts come before or are', text('<=', 'Größe'), ['alpha', 'delta', 'gamma']),
  domains('a text contains, in any case', text('~', 'SEC'), ['beta']),
  domains('a text contains, in any case, letters beyond ASCII', text('~', 'GRÖSSE'.replace('SS', 'ß')), ['gamma']),
  domains('every text contains the empty one', text('~', ''), ALL_DOMAINS),
  domains('no pattern is looked into', text('~', '.*'), []),
  domains('an empty text is there', one({ op: 'exists', property: 'description' }), ALL_DOMAINS),
  domains('an empty text is itself', text('=', ''), ['delta']),
  domains('a text that looks like a number is a text', tag('>', 'rank', '10'), ['alpha']),
];

const NUMBERS: readonly QueryCase[] = [
  domains('a number is itself', number('=', 443), ['beta']),
  domains('a number is itself, written as a text', number('=', '443'), ['beta']),
  domains('a number is itself by value', number('=', '443.0'), ['beta']),
  domains('a number is all others, and so is a missing one', number('!=', 443), ['alpha', 'delta', 'gamma']),
  domains('numbers are ordered by value', number('>', 80), ['beta', 'gamma']),
  domains('numbers are ordered by value, written as texts', number('>', '80'), ['beta', 'gamma']),
  domains('numbers have an order with equality', number('>=', 443), ['beta', 'gamma']),
  domains('numbers come before', number('<', 443), ['alpha']),
  domains('numbers come before or are', number('<=', 443), ['alpha', 'beta']),
  domains('a number contains digits', number('~', '80'), ['alpha', 'gamma']),
  domains('a number has no order with a word', number('>', 'a'), []),
  domains('a number is not a word', number('!=', 'a'), ALL_DOMAINS),
  domains('a number is no empty text', number('=', ''), []),
];

const FLAGS: readonly QueryCase[] = [
  domains('a flag is itself', flag('=', true), ['alpha']),
  domains('a flag is itself, written as a text', flag('=', 'false'), ['beta']),
  domains('a flag is the other, and so is a missing one', flag('!=', true), ['beta', 'delta', 'gamma']),
  domains('a flag has no order', flag('>', false), []),
];

const TIMES: readonly QueryCase[] = [
  domains('a time is itself', created('=', 'beta'), ['beta']),
  domains(
    'a time is itself in another zone',
    (made) => one({ property: 'created', value: elsewhere(made['beta.example.com']?.created) }),
    ['beta'],
  ),
  domains('a time is all others', created('!=', 'beta'), ['alpha', 'delta', 'gamma']),
  domains('times come after', created('>', 'beta'), ['delta', 'gamma']),
  domains('times come after or are', created('>=', 'beta'), ['beta', 'delta', 'gamma']),
  domains('times come before', created('<', 'beta'), ['alpha']),
  domains('times come before or are', created('<=', 'beta'), ['alpha', 'beta']),
  domains(
    'times come before, in another zone',
    (made) => one({ op: '<', property: 'created', value: elsewhere(made['gamma.example.com']?.created) }),
    ['alpha', 'beta'],
  ),
  domains(
    'a day comes before the times in it',
    one({ op: '>', property: 'created', value: '2026-01-01' }),
    ALL_DOMAINS,
  ),
  domains('times in tags are times, too', tag('=', 'due', '2026-01-01T00:00:00.000Z'), ['beta', 'gamma']),
  domains('times in tags are ordered', tag('<', 'due', '2026-01-01T01:00:00+01:00'), []),
];

const MISSING: readonly QueryCase[] = [
  domains('what is missing is nothing', one({ op: '=', property: 'spec.gvcLink', value: 'x' }), []),
  domains('what is missing is not', one({ op: '!=', property: 'spec.gvcLink', value: 'x' }), ALL_DOMAINS),
  domains('what is missing is not there', one({ op: '!exists', property: 'spec.gvcLink' }), ALL_DOMAINS),
  domains('what is missing is nowhere there', one({ op: 'exists', property: 'spec.gvcLink' }), []),
  ...['>', '>=', '<', '<=', '~'].map((op) =>
    domains(`what is missing is in no order: ${op}`, one({ op, property: 'spec.gvcLink', value: '' }), []),
  ),
  domains('what is no scalar is there', one({ op: 'exists', property: 'spec.ports' }), ALL_DOMAINS),
  domains('what is no scalar is not a scalar', one({ op: '!=', property: 'spec.ports', value: 'x' }), ALL_DOMAINS),
  domains('what is no scalar contains nothing', one({ op: '~', property: 'spec', value: '' }), []),
  domains('elements are named by their place', one({ property: 'spec.ports.1.number', value: 443 }), ['gamma']),
  domains('the kind is a property', one({ property: 'kind', value: 'domain' }), ALL_DOMAINS),
];

const TAGS: readonly QueryCase[] = [
  domains('a tag is itself', tag('=', 'tier', 'gold'), ['alpha']),
  domains('a tag is all others, and so is a missing one', tag('!=', 'tier', 'gold'), ['beta', 'delta', 'gamma']),
  domains('a tag contains, in any case', tag('~', 'tier', 'GOLD'), ['alpha', 'beta']),
  domains('a tag is there', tag('exists', 'tier'), ['alpha', 'beta', 'delta']),
  domains('an empty tag is there', tag('exists', 'empty'), ['delta']),
  domains('a tag is not there', tag('!exists', 'tier'), ['gamma']),
  domains('a tag is ordered as a text', tag('<', 'rank', '9'), ['beta']),
  domains('a tag is a text, whatever it is compared with', tag('=', 'rank', 9), ['alpha']),
  domains('what objects have from birth is no tag', tag('exists', 'toString'), []),
  groups('a tag may have dots in its name', tag('=', 'a.b', 'dotted'), ['empty']),
  { kind: 'serviceaccount', what: 'a tag', spec: tag('=', 'team', 'red'), expected: ['robot'] },
  {
    kind: 'policy',
    what: 'a property',
    spec: one({ property: 'targetKind', value: '*' }),
    expected: ['superusers', 'viewers'],
  },
];

const RELATIONS: readonly QueryCase[] = [
  users('belongs to a group by link', one({ rel: 'group', value: 'devs' }), ['ann']),
  users('belongs to a group by its query', one({ rel: 'group', value: 'reds' }), ['ann', 'cara']),
  users('belongs to a group whose query names another', one({ rel: 'group', value: 'nested' }), ['ann']),
  users('belongs to no group by the query of another', one({ rel: 'group', value: 'circular' }), []),
  users('does not belong', one({ op: '!=', rel: 'group', value: 'reds' }), ['bob']),
  users('belongs to a group named by its link', one({ rel: 'group', value: '/org/{org}/group/devs' }), ['ann']),
  users('belongs to no group elsewhere', one({ rel: 'group', value: '/org/other/group/devs' }), []),
  users('belongs to nothing but groups', one({ rel: 'group', value: '/org/{org}/user/devs' }), []),
  users('belongs to no group that is not there', one({ rel: 'group', value: 'none' }), []),
  users('does not belong to one that is not there', one({ op: '!=', rel: 'group', value: 'none' }), [
    'ann',
    'bob',
    'cara',
  ]),
  groups('has a member', one({ rel: 'member', value: 'ann@example.com' }), BY_MEMBER_ANN),
  groups('has a member in any case', one({ rel: 'member', value: 'ANN@Example.com' }), BY_MEMBER_ANN),
  groups(
    'has a member by id',
    (made) => one({ rel: 'member', value: made['ann@example.com']?.id ?? '' }),
    BY_MEMBER_ANN,
  ),
  groups('has a member by link', one({ rel: 'member', value: '/org/{org}/user/ann@example.com' }), BY_MEMBER_ANN),
  groups('has a member by query', one({ rel: 'member', value: 'cara@example.com' }), ['reds']),
  groups('has no member elsewhere', one({ rel: 'member', value: '/org/other/user/ann@example.com' }), []),
  groups('has a service account', one({ rel: 'member', value: '/org/{org}/serviceaccount/robot' }), ['devs']),
  groups('has a service account by name', one({ rel: 'member', value: 'admin' }), ['superusers']),
  groups('has not', one({ op: '!=', rel: 'member', value: 'ann@example.com' }), [
    'circular',
    'empty',
    'superusers',
    'viewers',
  ]),
  groups('has nobody who is not there', one({ rel: 'member', value: 'nobody@example.com' }), []),
];

const GOLD = { tag: 'tier', value: 'gold' };
const NS = { property: 'spec.dnsMode', value: 'ns' };
const HIGH = { op: '>', property: 'spec.ports.0.number', value: 100 };

const MATCHES: readonly QueryCase[] = [
  domains('nothing asked is all', {}, ALL_DOMAINS),
  domains('all of nothing is all', { match: 'all', terms: [] }, ALL_DOMAINS),
  domains('any of nothing is none', { match: 'any', terms: [] }, []),
  domains('none of nothing is all', { match: 'none', terms: [] }, ALL_DOMAINS),
  domains('all', { match: 'all', terms: [NS, HIGH] }, ['beta']),
  domains('all unless told otherwise', { terms: [NS, GOLD] }, []),
  domains('any', { match: 'any', terms: [NS, GOLD] }, ['alpha', 'beta']),
  domains('none', { match: 'none', terms: [NS, GOLD] }, ['delta', 'gamma']),
  users(
    'relations beside others',
    {
      terms: [
        { rel: 'group', value: 'reds' },
        { op: '!exists', tag: 'since' },
      ],
    },
    ['cara'],
  ),
  users(
    'any relation',
    {
      match: 'any',
      terms: [
        { rel: 'group', value: 'devs' },
        { tag: 'team', value: 'blue' },
      ],
    },
    ['ann', 'bob'],
  ),
  groups('nothing asked, of groups', {}, ALL_GROUPS),
];

const SORTS: readonly QueryCase[] = [
  domains('by a text', { sort: { by: 'description' } }, ['delta', 'alpha', 'gamma', 'beta']),
  domains('by a text, downwards', { sort: { by: 'description', order: 'desc' } }, ['beta', 'gamma', 'alpha', 'delta']),
  domains('by a number, the missing last', { sort: { by: 'spec.ports.0.number' } }, [
    'alpha',
    'beta',
    'gamma',
    'delta',
  ]),
  domains('by a number, downwards, the missing last', { sort: { by: 'spec.ports.0.number', order: 'desc' } }, [
    'gamma',
    'beta',
    'alpha',
    'delta',
  ]),
  domains('by a flag, the missing by name', { sort: { by: 'spec.acceptAllHosts' } }, [
    'beta',
    'alpha',
    'delta',
    'gamma',
  ]),
  domains('by a time', { sort: { by: 'created' } }, ['alpha', 'beta', 'gamma', 'delta']),
  domains('by a tag', { sort: { by: 'tags.tier', order: 'desc' } }, ['delta', 'alpha', 'beta', 'gamma']),
  domains('equals by name, in both directions', { sort: { by: 'spec.dnsMode', order: 'desc' } }, [
    'beta',
    'alpha',
    'delta',
    'gamma',
  ]),
  domains('what matches', { terms: [HIGH], sort: { by: 'created', order: 'desc' } }, ['gamma', 'beta']),
];

export const QUERIES: readonly (readonly [string, readonly QueryCase[]])[] = [
  ['texts', TEXTS],
  ['numbers', NUMBERS],
  ['flags', FLAGS],
  ['times', TIMES],
  ['what is missing', MISSING],
  ['tags', TAGS],
  ['relations', RELATIONS],
  ['matches', MATCHES],
  ['sorted', SORTS],
];

export interface QueryFault {
  readonly what: string;
  readonly kind: QueryCase['kind'];
  readonly body: Json;
  readonly pointers: readonly string[];
}

const term = (what: string, at: Json, pointers: readonly string[], kind: QueryCase['kind'] = 'domain'): QueryFault => ({
  what,
  kind,
  body: { spec: { terms: [{ property: 'name', value: 'x' }, at] } },
  pointers: pointers.map((pointer) => `/spec/terms/1${pointer}`),
});

export const FAULTS: readonly QueryFault[] = [
  term('an unknown operator', { op: '==', property: 'name', value: 'x' }, ['/op']),
  term('nothing to compare', { value: 'x' }, ['']),
  term('two things to compare', { property: 'name', tag: 'x', value: 'x' }, ['']),
  term('three things to compare', { property: 'name', tag: 'x', rel: 'group', value: 'x' }, ['', '/rel']),
  term('no value', { property: 'name' }, ['/value']),
  term('a value that is no scalar', { property: 'name', value: ['x'] }, ['/value']),
  term('null for a value', { property: 'name', value: null }, ['/value']),
  term('an empty property', { property: '', value: 'x' }, ['/property']),
  term('an unknown member', { property: 'name', value: 'x', not: true }, ['/not']),
  term('a property that no domain has', { op: '!=', property: 'colour', value: 'x' }, ['/property']),
  term('a property of another kind', { property: 'email', value: 'x' }, ['/property']),
  term('what the language makes of a list', { op: 'exists', property: 'spec.ports.length' }, ['/property']),
  term('what the language makes of an object', { op: 'exists', property: 'constructor.name' }, ['/property']),
  term('the organization', { op: 'exists', property: 'org' }, ['/property']),
  {
    what: 'a sort by what no domain has',
    kind: 'domain',
    body: { spec: { sort: { by: 'no.such' } } },
    pointers: ['/spec/sort/by'],
  },
  term('a relation that the kind has not', { rel: 'group', value: 'x' }, ['/rel']),
  term('a relation of another kind', { rel: 'member', value: 'x' }, ['/rel'], 'user'),
  term('a relation in an order', { op: '>', rel: 'group', value: 'x' }, ['/op'], 'user'),
  term('a relation without a value', { op: 'exists', rel: 'member' }, ['/op'], 'group'),
  { what: 'another kind', kind: 'domain', body: { kind: 'group' }, pointers: ['/kind'] },
  { what: 'an unknown match', kind: 'domain', body: { spec: { match: 'some' } }, pointers: ['/spec/match'] },
  { what: 'an unknown fetch', kind: 'domain', body: { fetch: 'names' }, pointers: ['/fetch'] },
  {
    what: 'an unknown order',
    kind: 'domain',
    body: { spec: { sort: { by: 'name', order: 'up' } } },
    pointers: ['/spec/sort/order'],
  },
  { what: 'a sort by nothing', kind: 'domain', body: { spec: { sort: {} } }, pointers: ['/spec/sort/by'] },
  {
    what: 'too many terms',
    kind: 'domain',
    body: { spec: { terms: Array(51).fill({ tag: 'x', value: 'y' }) } },
    pointers: ['/spec/terms'],
  },
  { what: 'an unknown member', kind: 'domain', body: { where: {} }, pointers: ['/where'] },
];
