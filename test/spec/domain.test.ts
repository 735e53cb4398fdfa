import type { DomainState, PolicyState } from '../../src/model/control-events.js';
import { completedSpec } from '../../src/model/domain-spec.js';
import {
  type CreateDomain,
  decideCreateDomain,
  decideCreatePolicy,
  decideDeleteDomain,
  decideEditDomain,
  type EditDomain,
} from '../support/decisions.js';
import { AT, given } from './decider.js';
import { ORG, occasion, org, past, stateAfter } from './past.js';

const LATER = '2026-02-03T04:05:06.789Z';
const NAME = 'www.example.com';
const LINK = `/org/${ORG}/domain/${NAME}`;

const create: CreateDomain = {
  ...occasion('create'),
  org: ORG,
  name: NAME,
  document: { description: 'The shop', tags: { a: '1' }, spec: completedSpec({}) },
};
const made = past(org, (read) => decideCreateDomain(read, create));
const domain = stateAfter(made)(`domain/${NAME}`) as DomainState;

describe('creating a domain', () => {
  it('makes it, under a name of the whole service', () => {
    given(...past(org))
      .when((read) => decideCreateDomain(read, create))
      .then({
        type: 'domain-created',
        stream: `domain/${NAME}`,
        auditId: 'create-1',
        data: {
          id: 'create-0',
          org: ORG,
          name: NAME,
          description: 'The shop',
          tags: { a: '1' },
          spec: { dnsMode: 'cname', ports: [{ number: 443, protocol: 'http2' }] },
          version: 1,
          created: AT,
          lastModified: AT,
        },
      });
  });

  it('rests on the name being free', () => {
    given(...past(org))
      .when((read) => decideCreateDomain(read, create))
      .thenRestsOn({ [`domain/${NAME}`]: 0 });
  });

  it('is refused where any organization has the name', () => {
    given(...made)
      .when((read) => decideCreateDomain(read, { ...create, org: 'globex' }))
      .thenRefused('already_exists');
  });

  it('is refused with a tag of the service', () => {
    const document = { ...create.document, tags: { 'svc/a': '' } };
    given(...past(org))
      .when((read) => decideCreateDomain(read, { ...create, document }))
      .thenRefused('builtin_tag');
  });
});

describe('editing a domain', () => {
  const edit = (command: Partial<EditDomain> & Pick<EditDomain, 'revise'>): EditDomain => ({
    ...occasion('edit', LATER),
    org: ORG,
    name: NAME,
    ...command,
  });

  it('makes its next version', () => {
    given(...made)
      .when((read) => decideEditDomain(read, edit({ revise: (document) => ({ ...document, tags: {} }) })))
      .then({
        type: 'domain-edited',
        stream: `domain/${NAME}`,
        auditId: 'edit-0',
        data: { ...domain, tags: {}, version: 2, lastModified: LATER },
      });
  });

  it('that changes nothing is no event', () => {
    given(...made)
      .when((read) => decideEditDomain(read, edit({ revise: ({ ...document }) => document })))
      .then();
  });

  it('is refused at another version, as another resource, with a tag of the service', () => {
    const revise: EditDomain['revise'] = (document) => document;
    const when = (command: EditDomain) => given(...made).when((read) => decideEditDomain(read, command));
    when(edit({ revise, expected: 2 })).thenRefused('precondition_failed');
    when(edit({ revise, identity: { id: 'another' } })).thenRefused('validation_failed');
    when(edit({ revise: (document) => ({ ...document, tags: { 'svc/a': '' } }) })).thenRefused('builtin_tag');
  });

  it('of another organization finds nothing', () => {
    given(...made)
      .when((read) => decideEditDomain(read, edit({ revise: (document) => document, org: 'globex' })))
      .thenRefused('not_found');
  });
});

describe('deleting a domain', () => {
  const command = { ...occasion('delete', LATER), org: ORG, name: NAME };
  const policy = {
    ...occasion('policy'),
    org: ORG,
    name: 'shop',
    document: {
      description: 'shop',
      tags: {},
      targetKind: 'domain',
      targetLinks: [LINK],
      bindings: [{ permissions: ['view'], principalLinks: [`/org/${ORG}/serviceaccount/admin`] }],
    },
  } as const;

  it('takes it out of the policies that name it, in the same record', () => {
    const all = past(
      org,
      (read) => decideCreateDomain(read, create),
      (read) => decideCreatePolicy(read, policy),
    );
    const before = stateAfter(all)(`policy/${ORG}/shop`) as PolicyState;
    given(...all)
      .when((read) => decideDeleteDomain(read, command))
      .then(
        { type: 'domain-deleted', stream: `domain/${NAME}`, auditId: 'delete-0', data: domain },
        {
          type: 'policy-edited',
          stream: `policy/${ORG}/shop`,
          auditId: 'delete-1',
          data: { ...before, targetLinks: [], version: 2, lastModified: LATER },
        },
        { type: 'authz-changed', stream: `authz/${ORG}` },
      );
  });

  it('is refused at another version, and of another organization finds nothing', () => {
    given(...made)
      .when((read) => decideDeleteDomain(read, { ...command, expected: 2 }))
      .thenRefused('precondition_failed');
    given(...made)
      .when((read) => decideDeleteDomain(read, { ...command, org: 'globex' }))
      .thenRefused('not_found');
  });
});

describe('a completed specification', () => {
  it('stays as it is when it is completed again', () => {
    const once = completedSpec({
      ports: [
        { number: 1, routes: [{}, { regex: 'a' }], cors: { allowMethods: ['get'] }, tls: {} },
        { number: 2, tls: { cipherSuites: [['AES256-GCM-SHA384'], 'AES128-GCM-SHA256', 'AES256-GCM-SHA384'] } },
      ],
    });
    expect(completedSpec(once)).toEqual(once);
    expect(once.ports[1]?.tls?.cipherSuites).toEqual(['AES256-GCM-SHA384', 'AES128-GCM-SHA256']);
  });

  it('keeps what another prevails over', () => {
    const spec = {
      gvcLink: '//gvc/a',
      workloadLink: '//gvc/a/workload/b',
      acceptAllHosts: true,
      acceptAllSubdomains: true,
      ports: [{ number: 1, routes: [{ prefix: '/a', regex: 'a', hostPrefix: 'a', hostRegex: 'a' }] }],
    };
    expect(completedSpec(spec)).toMatchObject(spec);
  });
});
