import { setTimeout as delay } from 'node:timers/promises';
import { type Json, newOrg, Org, pointers, type Refusal } from '../support/api.js';
import { type Mailbox, newUser } from '../support/mail.js';
import { type Resource, Resources } from '../support/resources.js';
import type { TestService } from '../support/service.js';
import { ACCOUNTS, DOMAINS, FAULTS, GROUPS, type Made, QUERIES, type QueryCase, USERS } from './queries.table.js';

/** A service on any store, and where its mails go. */
export interface World {
  readonly service: TestService;
  readonly mailbox: Mailbox;
}

/** Declares the tests of the query language, against a service that runs before the first of them. */
export function queryLanguage(world: () => World): void {
  let org: Org;
  const made: Record<string, Resource> = {};

  beforeAll(async () => {
    org = await newOrg(world().service);
    Object.assign(made, await makeAll(org, world().mailbox));
  });

  const of = (kind: string) => new Resources(org, kind);
  const specOf = ({ spec }: QueryCase) => inOrg(org, typeof spec === 'function' ? spec(made as Made) : spec) as Json;
  const shown = ({ name, email }: Resource & { readonly email?: unknown }) => email ?? name;

  describe.each(QUERIES)('%s', (_what, cases) => {
    test.each(cases.map((one) => [one.kind, one.what, one] as const))('%s: %s', async (kind, _name, one) => {
      const body = { kind, spec: specOf(one) };
      const answer = await of(kind).query(body);
      expect([answer.status, answer.body.items?.map(shown)]).toEqual([200, one.expected]);
      expect(answer.body.links.map(({ rel }) => rel)).toEqual(['self']);
      // Page by page it is the same, and so it is as links.
      expect((await of(kind).queryAll(body, '?limit=1')).map(shown)).toEqual(one.expected);
      const links = await of(kind).query<string>({ ...body, fetch: 'links' });
      expect(links.body.items).toEqual(answer.body.items.map((item) => item.links[0]?.href));
    });
  });

  describe('is refused', () => {
    test.each(FAULTS.map((fault) => [fault.what, fault] as const))('%s', async (_what, fault) => {
      const answer = await of(fault.kind).query(fault.body);
      expect([answer.status, pointers(answer)]).toEqual([400, [...fault.pointers].sort()]);
    });

    test('as the query of a group, if it compares what no user has', async () => {
      const memberQuery = { kind: 'user', spec: { terms: [{ op: '!=', property: 'nmae', value: 'x' }] } };
      const answer = await org.api.post<Refusal>(`/org/${org.name}/group`, { name: 'typo', memberQuery });
      expect([answer.status, pointers(answer)]).toEqual([400, ['/memberQuery/spec/terms/0/property']]);
    });

    test.each(['-query', 'x/-query'])('of a kind that is not there: %s', async (path) => {
      const answer = await org.api.post<Refusal>(`/org/${org.name}/gadget/${path}`, {});
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
    });
  });

  describe('a relation', () => {
    /** The organization, by an account that may view these kinds; of groups, this one alone. */
    const viewer = async (name: string, kinds: readonly string[], group?: string) => {
      await of('serviceaccount').create({ name });
      const principalLinks = [`/org/${org.name}/serviceaccount/${name}`];
      for (const targetKind of kinds) {
        const target =
          targetKind === 'group' && group ? { targetLinks: [`/org/${org.name}/group/${group}`] } : { target: 'all' };
        const bindings = [{ permissions: ['view'], principalLinks }];
        await of('policy').create({ name: `${name}-${targetKind}`, targetKind, ...target, bindings });
      }
      const { body } = await org.api.post<{ key: string }>(`${of('serviceaccount').at(name)}/-addKey`, {
        description: name,
      });
      const api = new Org(org.api.url, org.name, body.key);
      return async (kind: string, rel: string, value: string) => {
        const answer = await new Resources(api, kind).query({ spec: { terms: [{ rel, value }] } });
        return answer.body.items.map(shown);
      };
    };

    test('to what the caller may not view is as if it were not there', async () => {
      const ofUsers = await viewer('users-only', ['user']);
      expect(await ofUsers('user', 'group', 'devs')).toEqual([]);
      const ofOne = await viewer('one-group', ['user', 'group'], 'devs');
      expect(await ofOne('user', 'group', 'devs')).toEqual(['ann@example.com']);
      expect(await ofOne('user', 'group', 'reds')).toEqual([]);
      expect(await ofOne('group', 'member', 'ann@example.com')).toEqual(['devs']);
      expect(await ofOne('group', 'member', 'robot')).toEqual([]);
      const ofGroups = await viewer('groups-only', ['group']);
      expect(await ofGroups('group', 'member', 'ann@example.com')).toEqual([]);
    });
  });

  describe('a cursor', () => {
    const sorted = { spec: { sort: { by: 'description' } } };
    const next = async (body: Json) => {
      const { links } = (await of('domain').query(body, '?limit=2')).body;
      return links.find(({ rel }) => rel === 'next')?.href ?? '';
    };

    test.each([
      ['another query', {}, { spec: { terms: [{ tag: 'x', value: 'y' }] } }],
      ['a sorted query', {}, sorted],
      ['an unsorted query', sorted, {}],
      ['another order', sorted, { spec: { sort: { by: 'description', order: 'desc' } } }],
    ])('is void for %s', async (_what, first, second) => {
      const answer = await org.api.post<Refusal>(await next(first), second);
      expect([answer.status, answer.body.code]).toEqual([400, 'invalid_cursor']);
    });

    test('is void for a list, for another kind, and when it was made up', async () => {
      const tagged = { spec: { terms: [{ op: 'exists', tag: 'tier' }] } };
      const cursor = new URLSearchParams((await next(tagged)).split('?')[1]).get('cursor') ?? '';
      const answers = [
        await of('domain').list(`?cursor=${cursor}`),
        await of('group').query(tagged, `?cursor=${cursor}`),
        await of('domain').query(sorted, '?cursor=bm9uZQ'),
      ];
      expect(answers.map(({ status }) => status)).toEqual([400, 400, 400]);
    });
  });

  describe('page by page, while things change', () => {
    test.each([
      ['by name', {}],
      ['sorted', { spec: { sort: { by: 'spec.ports.0.number' } } }],
    ])('%s: what stays is there once, whatever was deleted', async (_what, body) => {
      const mine = new Resources(await newOrg(world().service), 'domain');
      const names = Array.from({ length: 9 }, (_, index) => `p${index}.${mine.org.name}.example.com`);
      for (const [index, name] of names.entries()) {
        await mine.create({ name, spec: { ports: [{ number: 100 - index }] } });
      }
      const gone = names.slice(2, 7).reverse();
      const found = await mine.queryAll(body, '?limit=2', async () => {
        const name = gone.pop();
        if (name !== undefined) await mine.delete(name);
      });
      const seen = found.map(({ name }) => name);
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen).toEqual(expect.arrayContaining([...names.slice(0, 2), ...names.slice(7)]));
    });
  });
}

async function makeAll(org: Org, mailbox: Mailbox): Promise<Record<string, Resource>> {
  const made: Record<string, Resource> = {};
  const make = async (kind: string, body: Json & { readonly name: string }) => {
    const { status, body: resource, text } = await new Resources(org, kind).create(inOrg(org, body) as Json);
    if (status !== 201) throw new Error(`the ${kind} answered ${status}: ${text}`);
    made[body.name] = resource;
    // Each has a time of its own.
    await delay(2);
  };
  for (const { email, name, ...document } of USERS) {
    await newUser(org, mailbox, email, { name });
    const { status, body, text } = await new Resources(org, 'user').patch(email, document);
    if (status !== 200) throw new Error(`the user answered ${status}: ${text}`);
    made[email] = body;
  }
  for (const body of ACCOUNTS) await make('serviceaccount', body);
  for (const body of GROUPS) await make('group', body);
  for (const body of DOMAINS) await make('domain', body);
  return made;
}

/** `{org}` is the organization's name. */
function inOrg(org: Org, value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll('{org}', org.name));
}
