import { type Api, type Link, linkOf } from './api.js';
import type { Seed } from './seed.js';

/** A request that does something, and does it once. */
export interface RouteRequest {
  readonly path: string;
  readonly body: unknown;
}

interface Target {
  readonly admin: Api;
  readonly org: string;
  /** Fits every kind of resource; each trial has its own. */
  readonly name: string;
}

type Make = (target: Target) => RouteRequest | Promise<RouteRequest>;

const KINDS = ['group', 'serviceaccount', 'policy', 'domain', 'user'] as const;
type Kind = (typeof KINDS)[number];

/** What a trial acts on: one resource of each kind, under the trial's name. */
export function seedTarget(seed: Seed, org: string, name: string): void {
  seed.group(org, name);
  seed.account(org, name);
  seed.policy(org, name, { targetKind: 'group', target: 'all' });
  seed.domain(org, refOf('domain', { org, name }));
  seed.user(org, refOf('user', { org, name }));
}

function refOf(kind: Kind, { org, name }: Pick<Target, 'org' | 'name'>): string {
  if (kind === 'domain') return `${name}.${org}.example.com`;
  return kind === 'user' ? `${name}@example.com` : name;
}

const NEW: Readonly<Record<Exclude<Kind, 'user'>, object>> = {
  group: {},
  serviceaccount: {},
  policy: { targetKind: 'group', target: 'all' },
  domain: { spec: {} },
};

const REPLACED: Readonly<Record<Kind, object>> = { ...NEW, user: { name: 'Replaced' } };

function requestsOf(kind: Kind): [string, Make][] {
  const one = (body: object) => (target: Target) => ({
    path: `/org/${target.org}/${kind}/${refOf(kind, target)}`,
    body,
  });
  const base = `/org/:org/${kind}`;
  return [
    [`PATCH ${base}/:ref`, one({ tags: { changed: 'yes' } })],
    [`PUT ${base}/:ref`, one({ ...REPLACED[kind], description: 'replaced' })],
    [`DELETE ${base}/:ref`, one({})],
  ];
}

function creationOf(kind: Exclude<Kind, 'user'>): [string, Make] {
  const make: Make = (target) => ({
    path: `/org/${target.org}/${kind}`,
    body: { ...NEW[kind], name: refOf(kind, { ...target, name: `new-${target.name}` }) },
  });
  return [`POST /org/:org/${kind}`, make];
}

function requestsOfKeys(kind: 'user' | 'serviceaccount'): [string, Make][] {
  const at = (target: Target, action: string) => `/org/${target.org}/${kind}/${refOf(kind, target)}/-${action}`;
  return [
    [
      `POST /org/:org/${kind}/:ref/-addKey`,
      (target) => ({ path: at(target, 'addKey'), body: { description: 'taken' } }),
    ],
    [
      `POST /org/:org/${kind}/:ref/-removeKey`,
      async (target) => {
        const { body } = await target.admin.post<{ id: string }>(at(target, 'addKey'), { description: 'to remove' });
        return { path: at(target, 'removeKey'), body: { id: body.id } };
      },
    ],
  ];
}

const AUDIT = '/audit/org/:org/auditctx/:contextName';

/** By method and path of the route: every route by which a principal of an organization changes something. */
const REQUESTS: ReadonlyMap<string, Make> = new Map<string, Make>([
  ...KINDS.flatMap(requestsOf),
  ...(['group', 'serviceaccount', 'policy', 'domain'] as const).map(creationOf),
  ...(['user', 'serviceaccount'] as const).flatMap(requestsOfKeys),
  [
    'POST /org/:org/user/-invite',
    ({ org, name }) => ({ path: `/org/${org}/user/-invite`, body: { emails: [`new-${name}@example.com`] } }),
  ],
  [
    'DELETE /org/:org/invitation/:ref',
    async ({ admin, org, name }) => {
      const emails = [`open-${name}@example.com`];
      await admin.post(`/org/${org}/user/-invite`, { emails });
      const { body } = await admin.get<{ items: readonly { email: string; links: readonly Link[] }[] }>(
        `/org/${org}/invitation?limit=1000`,
      );
      const invitation = body.items.find(({ email }) => emails.includes(email));
      return { path: (invitation && linkOf(invitation, 'self')) ?? '', body: {} };
    },
  ],
  [`PUT ${AUDIT}`, ({ org, name }) => ({ path: `/audit/org/${org}/auditctx/${name}`, body: { retentionDays: 9_000 } })],
  [
    `PATCH ${AUDIT}`,
    ({ org, name }) => ({ path: `/audit/org/${org}/auditctx/${name}`, body: { retentionDays: 9_001 } }),
  ],
  [
    `POST ${AUDIT}`,
    ({ org, name }) => ({ path: `/audit/org/${org}/auditctx/${name}`, body: { resource: { name: 'published' } } }),
  ],
  [
    `POST ${AUDIT}/-bulk`,
    ({ org, name }) => ({
      path: `/audit/org/${org}/auditctx/${name}/-bulk`,
      body: Array.from({ length: 3 }, (_, index) => ({ resource: { name: `bulk-${index}` } })),
    }),
  ],
  [
    `POST ${AUDIT}/-ingest`,
    ({ org, name }) => ({ path: `/audit/org/${org}/auditctx/${name}/-ingest`, body: [{ level: 'info' }, 'a text'] }),
  ],
]);

/** How to do something on the route; undefined for one that changes nothing, as far as is known here. */
export function requestOf(method: string, url: string): Make | undefined {
  return REQUESTS.get(`${method} ${url}`);
}

export function routesWithRequests(): readonly string[] {
  return [...REQUESTS.keys()];
}
