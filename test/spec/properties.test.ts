import 'reflect-metadata';
import { RESOURCE_KINDS, resourceKindOf } from '../../src/kinds/kinds.js';
import { propertyFault } from '../../src/kinds/properties.js';

test.each(RESOURCE_KINDS.map((of) => [of.kind.name, of] as const))(
  'a %s has every member that svc shows',
  (_name, of) => {
    for (const { member } of of.kind.columns) expect([member, propertyFault(of, member)]).toEqual([member, undefined]);
  },
);

test.each([
  ['domain', 'spec'],
  ['domain', 'spec.ports'],
  ['domain', 'spec.ports.0'],
  ['domain', 'spec.ports.12.routes.3.headers.request.set.X-Name'],
  ['domain', 'spec.ports.0.tls.cipherSuites.0.1'],
  ['domain', 'tags.anything'],
  ['group', 'memberLinks.0'],
  ['group', 'memberQuery.spec.terms.0.value'],
  ['policy', 'bindings.0.permissions.0'],
  ['policy', 'targetLinks'],
  ['user', 'links.0.href'],
  ['user', 'idp'],
  ['serviceaccount', 'keys.0.id'],
])('a %s can have %s', (kind, path) => {
  expect(propertyFault(resourceKindOf(kind), path)).toBeUndefined();
});

test.each([
  ['domain', ''],
  ['domain', 'name.length'],
  ['domain', 'spec.ports.first'],
  ['domain', 'spec.ports.0.nmuber'],
  ['domain', 'spec.ports.0.number.value'],
  ['domain', 'tags.a.b'],
  ['group', 'memberLinks.length'],
  ['user', 'email.0'],
  ['user', '__proto__'],
  ['user', 'codeHash'],
  ['user', 'toString'],
])('a %s never has %s', (kind, path) => {
  expect(propertyFault(resourceKindOf(kind), path)).toMatch(/^is no property of a .*; paths begin with .*created/);
});
