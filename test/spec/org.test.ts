import type { ControlEvent } from '../../src/model/control-events.js';
import { type CreateOrg, decideCreateOrg } from '../../src/model/org.js';
import { AT, given } from './decider.js';

const command: CreateOrg = {
  name: 'acme',
  description: 'Acme, Inc.',
  tags: { tier: 'gold' },
  at: AT,
  keyHash: 'ab12',
  ids: { org: 'o', serviceAccount: 's', key: 'k', orgAudit: 'oa', serviceAccountAudit: 'sa', keyAudit: 'ka' },
};

const first = { version: 1, created: AT, lastModified: AT };
const admin = '/org/acme/serviceaccount/admin';

const created: readonly ControlEvent[] = [
  {
    type: 'org-created',
    stream: 'org/acme',
    auditId: 'oa',
    data: { id: 'o', name: 'acme', description: 'Acme, Inc.', tags: { tier: 'gold' }, ...first, superusers: [admin] },
  },
  {
    type: 'serviceaccount-created',
    stream: 'serviceaccount/acme/admin',
    auditId: 'sa',
    data: { id: 's', org: 'acme', name: 'admin', description: 'admin', tags: {}, ...first, origin: 'builtin' },
  },
  {
    type: 'key-issued',
    stream: 'key/ab12',
    auditId: 'ka',
    data: { id: 'k', org: 'acme', principal: admin, description: 'first key', issued: AT },
  },
  { type: 'authz-changed', stream: 'authz/acme' },
];

describe('creating an organization', () => {
  it('makes the organization, its account admin with full rights, and the first key, in one record', () => {
    given()
      .when((read) => decideCreateOrg(read, command))
      .then(...created);
  });

  it('rests on the name being free and on every stream it writes', () => {
    given()
      .when((read) => decideCreateOrg(read, command))
      .thenRestsOn({ 'org/acme': 0, 'serviceaccount/acme/admin': 0, 'key/ab12': 0, 'authz/acme': 0 });
  });

  it('is refused where the name is taken', () => {
    given(...created)
      .when((read) => decideCreateOrg(read, command))
      .thenRefused('already_exists');
  });

  it('is refused where a tag belongs to the service', () => {
    const tagged = { ...command, tags: { 'svc/owner': 'me' } };
    given()
      .when((read) => decideCreateOrg(read, tagged))
      .thenRefused('builtin_tag');
  });

  it('does not mind another organization', () => {
    const other = { ...command, name: 'globex', keyHash: 'cd34' };
    given(...created)
      .when((read) => decideCreateOrg(read, other))
      .thenRestsOn({ 'org/globex': 0, 'serviceaccount/globex/admin': 0, 'key/cd34': 0, 'authz/globex': 0 });
  });

  it('decides the same every time it is asked on the same state', () => {
    const decide = () => decideCreateOrg(() => undefined, command);
    expect(decide()).toEqual(decide());
  });
});
