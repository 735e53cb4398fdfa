import type { ControlEvent, GroupDocument, GroupState, PolicyState } from '../../src/model/control-events.js';
import { decideCreateGroup, decideDeleteGroup, decideEditGroup, type EditGroup } from '../support/decisions.js';
import { AT, given } from './decider.js';
import { account, group, ORG, occasion, org, past, policy, stateAfter, user } from './past.js';

const LATER = '2026-02-03T04:05:06.789Z';
const ADMIN = `/org/${ORG}/serviceaccount/admin`;
const ANN = `/org/${ORG}/user/ann@example.com`;
const ROBOT = `/org/${ORG}/serviceaccount/robot`;
const AUTHZ = { type: 'authz-changed', stream: `authz/${ORG}` } as const;

const people = past(org, ...user('ann@example.com'), account('robot'), group('devs', [ANN]));
const devs = stateAfter(people)(`group/${ORG}/devs`) as GroupState;

const create = (document: Partial<GroupDocument> = {}) => ({
  ...occasion('create'),
  org: ORG,
  name: 'ops',
  document: { description: 'Operators', tags: {}, memberLinks: [], ...document },
});

const edit = (revise: EditGroup['revise'], command: Partial<EditGroup> = {}): EditGroup => ({
  ...occasion('edit', LATER),
  org: ORG,
  name: 'devs',
  revise,
  ...command,
});

const withMembers = (memberLinks: readonly string[]) => edit((document) => ({ ...document, memberLinks }));

describe('creating a group', () => {
  it('keeps its members by e-mail address and by name, none twice', () => {
    const links = [
      `/org/${ORG}/user/ANN@Example.com`,
      ROBOT,
      `/org/${ORG}/user/user ann@example.com-0`.replace(' ', '%20'),
      ANN,
    ];
    given(...people)
      .when((read) => decideCreateGroup(read, create({ memberLinks: links })))
      .then(
        {
          type: 'group-created',
          stream: `group/${ORG}/ops`,
          auditId: 'create-1',
          data: {
            id: 'create-0',
            org: ORG,
            name: 'ops',
            origin: 'default',
            description: 'Operators',
            tags: {},
            memberLinks: [ANN, ROBOT],
            version: 1,
            created: AT,
            lastModified: AT,
          },
        },
        AUTHZ,
      );
  });

  it('is refused where the name is taken, or with a tag of the service', () => {
    given(...people)
      .when((read) => decideCreateGroup(read, { ...create(), name: 'devs' }))
      .thenRefused('already_exists');
    given(...people)
      .when((read) => decideCreateGroup(read, create({ tags: { 'svc/a': '' } })))
      .thenRefused('builtin_tag');
  });

  it.each([
    ['a user who is not there', `/org/${ORG}/user/bob@example.com`],
    ['a service account that is not there', `/org/${ORG}/serviceaccount/none`],
    ['a member of another organization', '/org/globex/serviceaccount/admin'],
    ['a group', `/org/${ORG}/group/devs`],
    ['what is no link', 'ann@example.com'],
  ])('is refused with %s, naming the place', (_what, link) => {
    let faults: unknown;
    given(...people)
      .when((read) => {
        try {
          return decideCreateGroup(read, create({ memberLinks: [ANN, link] }));
        } catch (error) {
          faults = (error as { faults: unknown }).faults;
          throw error;
        }
      })
      .thenRefused('validation_failed');
    expect(faults).toEqual([{ pointer: '/memberLinks/1', reason: expect.stringContaining('that exists') }]);
  });

  it('takes 200 members and no more', () => {
    const accounts = Array.from({ length: 201 }, (_, index) => `robot-${index}`);
    const links = accounts.map((name) => `/org/${ORG}/serviceaccount/${name}`);
    const all = past(org, ...accounts.map(account));
    given(...all)
      .when((read) => decideCreateGroup(read, create({ memberLinks: links })))
      .thenRefused('validation_failed');
    const twice = [...links.slice(0, 200), ...links.slice(0, 200)];
    const [event] = decideCreateGroup(stateAfter(all), create({ memberLinks: twice }));
    expect(event).toMatchObject({ data: { memberLinks: links.slice(0, 200) } });
  });

  it('rests on its members, and on what anyone may do', () => {
    given(...people)
      .when((read) => decideCreateGroup(read, create({ memberLinks: [ANN, ROBOT] })))
      .thenRestsOn(
        expect.objectContaining({
          [`group/${ORG}/ops`]: 0,
          [`user/${ORG}/ann@example.com`]: 1,
          [`serviceaccount/${ORG}/robot`]: 1,
          [`authz/${ORG}`]: expect.any(Number),
        }),
      );
  });
});

describe('editing a group', () => {
  const edited = (data: Partial<GroupState>, action?: string): ControlEvent => ({
    type: 'group-edited',
    stream: `group/${ORG}/devs`,
    auditId: 'edit-0',
    data: { ...devs, version: 2, lastModified: LATER, ...data },
    ...(action !== undefined && { action }),
  });

  it.each<[string, EditGroup, Partial<GroupState>, string | undefined]>([
    ['a member that came', withMembers([ANN, ROBOT]), { memberLinks: [ANN, ROBOT] }, 'add-member'],
    ['a member that went', withMembers([]), { memberLinks: [] }, 'remove-member'],
    ['one that came and one that went', withMembers([ROBOT]), { memberLinks: [ROBOT] }, undefined],
    [
      'a member that came, and a description',
      edit((document) => ({ ...document, description: 'x', memberLinks: [ANN, ROBOT] })),
      { description: 'x', memberLinks: [ANN, ROBOT] },
      undefined,
    ],
    ['tags', edit((document) => ({ ...document, tags: { a: 'b' } })), { tags: { a: 'b' } }, undefined],
  ])('is recorded as what it is: %s', (_what, command, data, action) => {
    given(...people)
      .when((read) => decideEditGroup(read, command))
      .then(edited(data, action), AUTHZ);
  });

  it('may take the query away', () => {
    const query = { kind: 'user', fetch: 'items', spec: { match: 'all', terms: [] } } as const;
    const withQuery = past(org, (read) => decideCreateGroup(read, { ...create({ memberQuery: query }), name: 'devs' }));
    const [event] = decideEditGroup(
      stateAfter(withQuery),
      edit(({ memberQuery: _memberQuery, ...document }) => document),
    );
    expect(event && 'data' in event && event.data).not.toHaveProperty('memberQuery');
  });

  it('that changes nothing is no event', () => {
    given(...people)
      .when((read) => decideEditGroup(read, withMembers([ANN, ANN])))
      .then();
  });

  it('is refused at another version, as another resource, with a tag of the service, where there is none', () => {
    const same: EditGroup['revise'] = (document) => document;
    const when = (command: EditGroup) => given(...people).when((read) => decideEditGroup(read, command));
    when(edit(same, { expected: 2 })).thenRefused('precondition_failed');
    when(edit(same, { identity: { origin: 'builtin' } })).thenRefused('validation_failed');
    when(edit((document) => ({ ...document, tags: { 'svc/a': '' } }))).thenRefused('builtin_tag');
    when(edit(same, { name: 'none' })).thenRefused('not_found');
  });

  it('keeps a superuser', () => {
    given(...people)
      .when((read) => decideEditGroup(read, { ...withMembers([]), name: 'superusers' }))
      .thenRefused('builtin_resource');
    given(...people)
      .when((read) => decideEditGroup(read, { ...withMembers([ANN]), name: 'superusers' }))
      .thenRestsOn(expect.objectContaining({ [`group/${ORG}/superusers`]: 1 }));
  });
});

describe('deleting a group', () => {
  const remove = { ...occasion('delete', LATER), org: ORG, name: 'devs' };

  it('takes it out of the policies that name it, in the same record', () => {
    const all = past(
      org,
      ...user('ann@example.com'),
      group('devs', [ANN]),
      policy('readers', [`/org/${ORG}/group/devs`, ADMIN], [ANN]),
    );
    const state = stateAfter(all);
    const readers = state(`policy/${ORG}/readers`) as PolicyState;
    given(...all)
      .when((read) => decideDeleteGroup(read, remove))
      .then(
        {
          type: 'group-deleted',
          stream: `group/${ORG}/devs`,
          auditId: 'delete-0',
          data: state(`group/${ORG}/devs`) as GroupState,
        },
        {
          type: 'policy-edited',
          stream: `policy/${ORG}/readers`,
          auditId: 'delete-1',
          data: {
            ...readers,
            bindings: [{ permissions: ['view'], principalLinks: [ADMIN] }],
            version: 2,
            lastModified: LATER,
          },
        },
        AUTHZ,
      );
  });

  it.each(['superusers', 'viewers'])('is refused of %s, which every organization has', (name) => {
    given(...people)
      .when((read) => decideDeleteGroup(read, { ...remove, name }))
      .thenRefused('builtin_resource');
  });

  it('is refused at another version, and where there is none', () => {
    given(...people)
      .when((read) => decideDeleteGroup(read, { ...remove, expected: 3 }))
      .thenRefused('precondition_failed');
    given(...people)
      .when((read) => decideDeleteGroup(read, { ...remove, name: 'none' }))
      .thenRefused('not_found');
  });
});
