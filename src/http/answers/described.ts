import { ref } from './documented.js';
import { array, list, object, patchedMap, patchedText, readBefore, resource, text } from './parts.js';

/** Groups and domains. */
export function describedSchemas(): Record<string, Record<string, unknown>> {
  const { name, description, tags } = resource;
  const origin = { enum: ['default', 'builtin'] };
  const members = { memberLinks: array(text), memberQuery: ref('MemberQueryDto') };
  const groupRead = { ...readBefore, kind: { const: 'group' }, name, origin };
  const membersPatch = {
    type: ['array', 'object', 'null'],
    items: text,
    properties: { $append: array(text), $drop: array(text), $replace: array(text) },
    additionalProperties: false,
  };
  const domainRead = { ...readBefore, kind: { const: 'domain' }, name };
  const optional = ['description', 'tags', 'memberLinks', 'memberQuery', 'spec'];
  return {
    Group: object({ kind: { const: 'group' }, ...resource, origin, ...members }, ['memberQuery']),
    GroupList: list('group', 'Group'),
    GroupPatch: object(
      {
        ...groupRead,
        description: patchedText,
        tags: patchedMap,
        memberLinks: membersPatch,
        memberQuery: { type: ['object', 'null'] },
      },
      [...Object.keys(groupRead), ...optional],
    ),
    GroupReplacement: object({ ...groupRead, description, tags, ...members }, [...Object.keys(groupRead), ...optional]),
    Domain: object({ kind: { const: 'domain' }, ...resource, spec: ref('DomainSpecDto') }),
    DomainList: list('domain', 'Domain'),
    DomainPatch: object({ ...domainRead, description: patchedText, tags: patchedMap, spec: { type: 'object' } }, [
      ...Object.keys(domainRead),
      ...optional,
    ]),
    DomainReplacement: object({ ...domainRead, description, tags, spec: ref('DomainSpecDto') }, [
      ...Object.keys(domainRead),
      'description',
      'tags',
    ]),
  };
}
