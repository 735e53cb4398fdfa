import { type Answer, Api, Org, pointers, type Refusal } from '../support/api.js';
import { type Mailbox, newUser, openMailbox } from '../support/mail.js';
import { PATIENCE } from '../support/patience.js';
import { type Resource, Resources } from '../support/resources.js';
import { Seed } from '../support/seed.js';
import { startService, type TestService } from '../support/service.js';

const ORG = 'acme';
const link = (kind: string, name: string) => `/org/${ORG}/${kind}/${name}`;

let mailbox: Mailbox;
let service: TestService;
let admin: Org;
const orgs = new Map<string, Org>();

/** The organization as an account sees it that has one permission, on everything of a kind, and no other. */
const by = (name: string): Org => orgs.get(name) ?? admin;

beforeAll(async () => {
  const seed = new Seed();
  const key = seed.org(ORG);
  const accounts = new Map<string, Org>();
  const speaker = (name: string) => accounts.set(name, new Org('', ORG, seed.key(seed.account(ORG, name))));
  const given = (
    name: string,
    targetKind: 'user' | 'group' | 'policy' | 'serviceaccount',
    ...permissions: string[]
  ) => {
    speaker(name);
    const bindings = [{ permissions, principalLinks: [link('serviceaccount', name)] }];
    seed.policy(ORG, `for-${name}`, { targetKind, target: 'all', bindings });
  };
  given('policymaker', 'policy', 'create', 'edit');
  given('grouper', 'group', 'create', 'edit', 'delete');
  given('keyer', 'serviceaccount', 'addKey');
  given('inviter', 'user', 'invite');
  given('editor', 'user', 'edit');
  speaker('nobody');
  speaker('robot');
  seed.user(ORG, 'ann@example.com');
  seed.user(ORG, 'ben@example.com');
  const red = { kind: 'user', fetch: 'items', spec: { terms: [{ tag: 'team', value: 'red' }] } } as const;
  const outside = { ...red, spec: { match: 'none', terms: [{ rel: 'group', value: 'inside' }] } } as const;
  seed.group(ORG, 'inside', { memberLinks: [link('user', 'ann@example.com'), link('user', 'ben@example.com')] });
  seed.group(ORG, 'auditors', { memberQuery: red });
  seed.group(ORG, 'outsiders', { memberQuery: outside });
  seed.group(ORG, 'friends');
  seed.group(ORG, 'named');
  for (const group of ['auditors', 'outsiders', 'named']) {
    const bindings = [{ permissions: ['readAudit'], principalLinks: [link('group', group)] }];
    seed.policy(ORG, group, { targetKind: 'auditctx', target: 'all', bindings });
  }
  const edits = [{ permissions: ['edit'], principalLinks: [link('serviceaccount', 'inviter')] }];
  seed.policy(ORG, 'inviter-edits', { targetKind: 'group', target: 'all', bindings: edits });
  mailbox = await openMailbox();
  service = await startService({ seed, env: mailbox.env });
  admin = new Org(service.url, ORG, key);
  for (const [name, { key }] of accounts) orgs.set(name, new Org(service.url, ORG, key));
});

afterAll(async () => {
  await service.remove();
  await mailbox.close();
});

function refused({ status, body }: Answer<Refusal>, ...lacks: readonly string[]): void {
  expect([status, body.code]).toEqual([403, 'forbidden']);
  for (const text of lacks) expect(body.message).toContain(text);
}

const resources = (kind: string, who: Org = admin) => new Resources<Resource>(who, kind);
const SELF = (name: string) => link('serviceaccount', name);

let made = 0;
const fresh = (what: string) => {
  made += 1;
  return `${what}-${made}`;
};

describe('a policy', () => {
  const policies = () => resources('policy', by('policymaker'));
  const giving = (targetKind: string, permission: string, principal: string) => ({
    name: fresh('policy'),
    ...{ targetKind, target: 'all', bindings: [{ permissions: [permission], principalLinks: [principal] }] },
  });

  test.each(['policymaker', 'robot'])(
    'does not make %s a superuser by the hand of an editor of policies',
    async (name) => {
      const answer = await policies().create(giving('group', 'manage', SELF(name)));
      refused(answer, 'serviceaccount/policymaker lacks "manage" on every group');
    },
  );

  test('gives what its maker has', async () => {
    expect((await policies().create(giving('policy', 'edit', SELF('robot')))).status).toBe(201);
  });

  test('does not give a stronger permission than its maker has', async () => {
    refused(await policies().create(giving('policy', 'manage', SELF('robot'))), 'lacks "manage" on every policy');
  });

  test('gets no principal, permission or target that its editor has not, and loses any', async () => {
    const name = fresh('policy');
    const first = { permissions: ['readAudit'], principalLinks: [SELF('robot')] };
    const targetLinks = [link('auditctx', 'app')];
    expect(
      (await resources('policy').create({ name, targetKind: 'auditctx', targetLinks, bindings: [first] })).status,
    ).toBe(201);
    const edit = (body: object) => policies().patch(name, body as never);
    const more = { ...first, principalLinks: [SELF('robot'), SELF('nobody')] };
    refused(await edit({ bindings: [more] }), 'lacks "readAudit" on an auditctx that it may not view');
    refused(await edit({ bindings: [{ ...first, permissions: ['readAudit', 'writeAudit'] }] }), '"writeAudit"');
    refused(await edit({ targetLinks: [...targetLinks, link('auditctx', 'web')] }), '"readAudit"');
    refused(await edit({ target: 'all' }), 'lacks "readAudit" on every auditctx');
    expect((await edit({ description: 'the same', bindings: [first] })).status).toBe(200);
    expect((await edit({ bindings: [] })).status).toBe(200);
  });
});

describe('a group', () => {
  const groups = () => resources('group', by('grouper'));

  test.each(['grouper', 'robot'])('superusers does not take %s in by the hand of an editor of groups', async (name) => {
    const answer = await groups().patch('superusers', { memberLinks: { $append: [SELF(name)] } });
    refused(answer, 'serviceaccount/grouper lacks "manage" on every user');
  });

  test('that policies do not name takes anybody in', async () => {
    expect((await groups().patch('friends', { memberLinks: { $append: [SELF('robot')] } })).status).toBe(200);
  });

  test('takes in whom somebody links who has what it gives', async () => {
    expect((await resources('group').patch('named', { memberLinks: [SELF('robot')] })).status).toBe(200);
    expect((await groups().patch('named', { memberLinks: [] })).status).toBe(200);
  });

  test('that policies name gets no other query from an editor who has not what it gives, and loses it', async () => {
    const memberQuery = { kind: 'user', spec: { terms: [{ property: 'email', value: 'ann@example.com' }] } };
    refused(await groups().patch('named', { memberQuery }), 'lacks "readAudit" on every auditctx');
    expect((await resources('group').patch('named', { memberQuery })).status).toBe(200);
    expect((await groups().patch('named', { memberQuery: null })).status).toBe(200);
  });

  test('is not left, and not deleted, where that makes somebody match the query of another', async () => {
    refused(await groups().patch('inside', { memberLinks: [] }), 'lacks "readAudit"');
    refused((await groups().delete('inside')) as Answer<Refusal>, 'lacks "readAudit"');
  });

  test('that policies name may not read what its members choose', async () => {
    const query = (property: string) => ({
      kind: 'user',
      spec: {
        terms: [
          { tag: 'x', value: '1' },
          { property, op: 'exists' },
        ],
      },
    });
    for (const property of ['name', 'description', 'lastModified', 'keys.0.description']) {
      const answer = await resources('group').patch('named', { memberQuery: query(property) });
      expect([answer.status, pointers(answer)]).toEqual([400, ['/memberQuery/spec/terms/1/property']]);
    }
    for (const property of ['email', 'idp', 'id', 'created', 'tags.team']) {
      expect((await resources('group').patch('named', { memberQuery: query(property) })).status).toBe(200);
    }
    await resources('group').patch('named', { memberQuery: null });
  });

  test('that reads what its members choose is named by no policy', async () => {
    const name = fresh('group');
    const memberQuery = { kind: 'user', spec: { terms: [{ property: 'name', value: 'Boss' }] } };
    expect((await resources('group').create({ name, memberQuery })).status).toBe(201);
    const bindings = [{ permissions: ['view'], principalLinks: [SELF('robot'), link('group', name)] }];
    const answer = await resources('policy').create({ name, targetKind: 'user', target: 'all', bindings });
    expect([answer.status, pointers(answer)]).toEqual([400, ['/bindings/0/principalLinks/1']]);
  });
});

test('a user does not get in by a tag that it set on itself before a policy named the group', async () => {
  const [group, email] = [fresh('ops'), `${fresh('self')}@example.com`];
  const outsiders = await resources('group').get('outsiders');
  await resources('group').patch('outsiders', { memberQuery: null });
  const user = await newUser(admin, mailbox, email);
  const self = new Org(service.url, ORG, user.body.key);
  const policy = (targetKind: string, permission: string, principal: string, targets: object) =>
    resources('policy').create({
      name: fresh('policy'),
      ...{ targetKind, ...targets, bindings: [{ permissions: [permission], principalLinks: [principal] }] },
    });
  expect((await policy('user', 'edit', link('user', email), { targetLinks: [link('user', email)] })).status).toBe(201);
  const memberQuery = { kind: 'user', spec: { terms: [{ tag: 'crew', value: 'ops' }] } };
  await resources('group').create({ name: group, memberQuery });
  expect((await resources('user', self).patch(email, { tags: { crew: 'ops' } })).status).toBe(200);
  const naming = () => policy('auditctx', 'manage', link('group', group), { target: 'all' });
  const answer = await naming();
  expect([answer.status, pointers(answer)]).toEqual([400, ['/bindings/0/principalLinks/0']]);
  expect(answer.text).toContain(`(${email}); take the tag from them`);
  expect((await resources('user').patch(email, { tags: { crew: null } })).status).toBe(200);
  expect((await naming()).status).toBe(201);
  refused(await resources('user', self).patch(email, { tags: { crew: 'ops' } }), 'lacks "manage" on every auditctx');
  await resources('group').patch('outsiders', { memberQuery: outsiders.body.memberQuery } as never);
});

describe('a key', () => {
  const addKey = (who: Org, name: string) => who.api.post<Refusal>(`${SELF(name)}/-addKey`, { description: 'mine' });

  test('of a superuser is not issued to who may add keys', async () => {
    refused(
      await addKey(by('keyer'), 'admin'),
      'serviceaccount/keyer lacks "manage" on every user, which the key would give',
    );
  });

  test('of an account that has less is', async () => {
    expect((await addKey(by('keyer'), 'nobody')).status).toBe(201);
  });

  test('of the caller itself is', async () => {
    expect((await addKey(by('keyer'), 'keyer')).status).toBe(201);
  });
});

describe('a user', () => {
  const users = () => resources('user', by('editor'));

  test('is not given the tag that makes a member, by an editor who has not what the group gives', async () => {
    refused(
      await users().patch('ann@example.com', { tags: { team: 'red' } }),
      'serviceaccount/editor lacks "readAudit"',
    );
    expect((await resources('user').patch('ann@example.com', { tags: { team: 'red' } })).status).toBe(200);
  });

  test('keeps such a tag in the hand of that editor, and loses it', async () => {
    await resources('user').patch('ann@example.com', { tags: { team: 'red' } });
    expect((await users().patch('ann@example.com', { description: 'A.' })).status).toBe(200);
    expect((await users().patch('ann@example.com', { tags: { team: null, floor: '3' } })).status).toBe(200);
  });
});

describe('an invitation', () => {
  const inviting = (who: Org, group?: string) =>
    who.api.post<Refusal & { invitations: Record<string, string> }>(`/org/${ORG}/user/-invite`, {
      emails: [`${fresh('guest')}@example.com`],
      ...(group !== undefined && { group }),
    });
  const accepting = (answer: Awaited<ReturnType<typeof inviting>>, name = 'Guest') => {
    const [[email, at] = ['', '']] = Object.entries(answer.body.invitations);
    return new Api(service.url).post<Refusal>(`${at}/-accept`, { code: mailbox.code(email), name });
  };
  /** So that a new user matches no query: all are in the group that one of them asks for. */
  const withoutOutsiders = async (run: () => Promise<void>) => {
    const { memberQuery } = (await resources('group').get('outsiders')).body;
    await resources('group').patch('outsiders', { memberQuery: null });
    await run();
    await resources('group').patch('outsiders', { memberQuery } as never);
  };

  test('into a group is refused to who has not what the group gives', async () => {
    refused(await inviting(by('inviter'), 'superusers'), 'serviceaccount/inviter lacks "manage" on every user');
    refused(await inviting(by('inviter'), 'auditors'), 'lacks "readAudit" on every auditctx');
  });

  test('of somebody who would match the query of a group is refused alike', async () => {
    refused(await inviting(by('inviter')), 'lacks "readAudit" on every auditctx, which the invitation needs');
  });

  test('is accepted while the inviter may give what it gives', () =>
    withoutOutsiders(async () => {
      expect((await accepting(await inviting(by('inviter'), 'friends'))).status).toBe(201);
      expect((await accepting(await inviting(admin, 'superusers'))).status).toBe(201);
    }));

  test('is refused at its acceptance when the inviter was demoted, and the refusal names whom to ask', () =>
    withoutOutsiders(async () => {
      const boss = await newUser(admin, mailbox, `${fresh('boss')}@example.com`, { group: 'superusers' });
      const byBoss = new Org(service.url, ORG, boss.body.key);
      const invitations = [await inviting(byBoss, 'superusers'), await inviting(byBoss)];
      const memberLinks = { $drop: [link('user', boss.body.email)] };
      expect((await resources('group').patch('superusers', { memberLinks })).status).toBe(200);
      for (const invitation of invitations) {
        const answer = await accepting(invitation);
        refused(answer, `ask an administrator of ${ORG}`);
        expect(answer.text).not.toContain('superusers');
      }
    }));

  test('is refused at its acceptance when the inviter is gone', () =>
    withoutOutsiders(async () => {
      const boss = await newUser(admin, mailbox, `${fresh('boss')}@example.com`, { group: 'superusers' });
      const invitation = await inviting(new Org(service.url, ORG, boss.body.key));
      expect((await resources('user').delete(boss.body.email)).status).toBe(204);
      refused(await accepting(invitation), `ask an administrator of ${ORG}`);
    }));

  test('is refused at its acceptance when another account has the name of the inviter', () =>
    withoutOutsiders(async () => {
      const [name, group] = [fresh('onboard'), fresh('devs')];
      await resources('group').create({ name: group });
      const onboard = async () => {
        expect((await resources('serviceaccount').create({ name })).status).toBe(201);
        for (const [targetKind, permission] of [
          ['user', 'invite'],
          ['group', 'edit'],
        ] as const) {
          const bindings = [{ permissions: [permission], principalLinks: [SELF(name)] }];
          const made = await resources('policy').create({ name: fresh('policy'), targetKind, target: 'all', bindings });
          expect(made.status).toBe(201);
        }
        return admin.api.post<{ key: string }>(`${SELF(name)}/-addKey`, { description: 'first' });
      };
      const { body } = await onboard();
      const invitation = await inviting(new Org(service.url, ORG, body.key), group);
      expect((await resources('serviceaccount').delete(name)).status).toBe(204);
      refused(await accepting(invitation), `ask an administrator of ${ORG}`);
      await onboard();
      refused(await accepting(invitation), `ask an administrator of ${ORG}`);
    }));

  test('is refused at its acceptance when the group was given more than the inviter has', () =>
    withoutOutsiders(async () => {
      const name = fresh('group');
      await resources('group').create({ name });
      const invitation = await inviting(by('inviter'), name);
      const bindings = [{ permissions: ['delete'], principalLinks: [link('group', name)] }];
      await resources('policy').create({ name, targetKind: 'domain', target: 'all', bindings });
      refused(await accepting(invitation));
    }));
});

describe('a refusal', () => {
  test('names a target that the caller may view, and of another only the kind', async () => {
    const body = (target: string) => ({
      name: fresh('policy'),
      ...{ targetKind: 'policy', targetLinks: [link('policy', target)] },
      bindings: [{ permissions: ['delete'], principalLinks: [SELF('robot')] }],
    });
    const known = await resources('policy', by('policymaker')).create(body('viewers'));
    refused(known, 'lacks "delete" on policy/viewers, which this change would give; ask someone of acme who holds it');
    expect(known.body.details).toEqual({
      missing: { kind: 'policy', permission: 'delete', target: link('policy', 'viewers') },
    });
  });

  test('is noted for the auditors, with the permission that is missing', async () => {
    const headers = { 'x-request-id': 'grant-denied' };
    const body = { memberLinks: { $append: [SELF('grouper')] } };
    refused(await resources('group', by('grouper')).patch('superusers', body, headers));
    for (const deadline = Date.now() + 20_000 * PATIENCE; ; ) {
      const [event] = (await admin.list({ requestId: 'grant-denied' })).body.items;
      if (event || Date.now() > deadline) {
        expect(event).toMatchObject({
          resource: { type: 'user', name: '/org/acme/group/superusers' },
          action: { type: 'manage' },
          result: { status: 'DENIED' },
          subject: { name: 'grouper' },
        });
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
});
