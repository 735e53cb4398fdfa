import { ERRORS } from '../errors.js';
import { permissionsOn, TARGET_KINDS } from '../model/permission.js';
import { ref } from './documented.js';
import { shapeSchemas } from './dto/compiled.js';

const text = { type: 'string' };
const time = { type: 'string', format: 'date-time' };
const uuid = { type: 'string', format: 'uuid' };
const count = { type: 'integer', minimum: 0 };
const array = (items: object) => ({ type: 'array', items });
const map = { type: 'object', additionalProperties: text };

function object(properties: Record<string, object>, optional: readonly string[] = []): Record<string, unknown> {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, additionalProperties: false };
}

const resource = {
  id: uuid,
  name: text,
  description: text,
  tags: map,
  version: { type: 'integer', minimum: 1 },
  created: time,
  lastModified: time,
  links: array(ref('Link')),
};

/** The state of a job whose report is of this schema. */
function job(report: string): Record<string, unknown> {
  return object(
    {
      kind: { const: 'job' },
      name: { enum: ['rebuild', 'reconcile'] },
      state: { enum: ['idle', 'running', 'done', 'failed'] },
      id: uuid,
      phase: text,
      done: count,
      total: count,
      started: time,
      finished: time,
      report: ref(report),
      error: text,
      links: array(ref('Link')),
    },
    ['id', 'phase', 'done', 'total', 'started', 'finished', 'report', 'error'],
  );
}

/** A document of the read model that is not as the log says. */
function difference(problems: readonly string[], more: Record<string, object> = {}): Record<string, unknown> {
  const place = { topic: text, partition: count, offset: count };
  return object({ problem: { enum: problems }, itemKind: text, org: text, id: text, ...place, ...more });
}

const counts = (problems: readonly string[]) => object(Object.fromEntries(problems.map((problem) => [problem, count])));

/** What an operator with the root key is answered. */
function maintenanceSchemas(): Record<string, Record<string, unknown>> {
  const ofRebuild = ['missing', 'altered', 'extra'];
  const ofReconciliation = [...ofRebuild, 'misplaced'];
  return {
    RebuildJob: job('RebuildReport'),
    RebuildReport: object({
      kind: { const: 'rebuild' },
      generation: count,
      records: count,
      unreadable: count,
      compared: count,
      differences: counts(ofRebuild),
      items: array(difference(ofRebuild)),
      omitted: count,
    }),
    ReconcileJob: job('ReconciliationReport'),
    ReconciliationReport: object({
      kind: { const: 'reconciliation' },
      compared: count,
      repaired: count,
      differences: counts(ofReconciliation),
      items: array(difference(ofReconciliation, { repaired: { type: 'boolean' } })),
      omitted: count,
    }),
    DeadLetter: object(
      {
        kind: { const: 'deadletter' },
        place: text,
        topic: text,
        partition: count,
        offset: count,
        time,
        reason: text,
        key: text,
        bytes: count,
        replayed: { type: 'boolean' },
        value: { type: 'string', contentEncoding: 'base64' },
      },
      ['value'],
    ),
    DeadLetterList: object({
      kind: { const: 'list' },
      itemKind: { const: 'deadletter' },
      items: array(ref('DeadLetter')),
      links: array(ref('Link')),
    }),
    DeadLetterReplay: object({
      kind: { const: 'deadletterreplay' },
      items: array(object({ place: text, now: text })),
    }),
  };
}

const emailText = { type: 'string', format: 'email', maxLength: 254 };

/** Of a resource that was read, in the body of a change: repeated, or as what the change rests on. */
const readBefore = {
  id: text,
  version: { type: 'integer' },
  created: text,
  lastModified: text,
  links: array({}),
};

/** In a patch, `null` takes a member back to its default. */
const patchedText = { type: ['string', 'null'] };
const patchedMap = { type: ['object', 'null'], additionalProperties: patchedText };

function list(itemKind: string, itemSchema: string): Record<string, unknown> {
  const items = { anyOf: [array(ref(itemSchema)), array(text)] };
  return object({ kind: { const: 'list' }, itemKind: { const: itemKind }, items, links: array(ref('Link')) });
}

/** Users, invitations, service accounts and their keys. */
function principalSchemas(): Record<string, Record<string, unknown>> {
  const { name, description, tags } = resource;
  const user = { kind: { const: 'user' }, ...resource, email: emailText, idp: text };
  const userRead = { ...readBefore, kind: { const: 'user' }, email: text, idp: text };
  const key = { id: uuid, description: text, created: time, expires: time };
  const account = { kind: { const: 'serviceaccount' }, ...resource, origin: { enum: ['default', 'builtin'] } };
  const accountRead = { ...readBefore, kind: { const: 'serviceaccount' }, name, origin: text, keys: array({}) };
  return {
    User: object(user),
    UserList: list('user', 'User'),
    UserPatch: object({ ...userRead, name, description: patchedText, tags: patchedMap }, [
      ...Object.keys(userRead),
      'name',
      'description',
      'tags',
    ]),
    UserReplacement: object({ ...userRead, name, description, tags }, [
      ...Object.keys(userRead),
      'description',
      'tags',
    ]),
    NewUser: object({ ...user, key: text }),
    Invited: object({
      invitations: { type: 'object', propertyNames: emailText, additionalProperties: text },
      errors: { type: 'object', propertyNames: emailText, additionalProperties: ref('Error') },
    }),
    Invitation: object(
      {
        kind: { const: 'invitation' },
        id: uuid,
        email: emailText,
        group: text,
        expires: time,
        version: resource.version,
        created: time,
        lastModified: time,
        links: array(ref('Link')),
      },
      ['group'],
    ),
    InvitationList: list('invitation', 'Invitation'),
    ServiceAccount: object({ ...account, keys: array(object(key, ['expires'])) }),
    ServiceAccountList: list('serviceaccount', 'ServiceAccount'),
    ServiceAccountPatch: object({ ...accountRead, description: patchedText, tags: patchedMap }, [
      ...Object.keys(accountRead),
      'description',
      'tags',
    ]),
    ServiceAccountReplacement: object({ ...accountRead, description, tags }, [
      ...Object.keys(accountRead),
      'description',
      'tags',
    ]),
    IssuedKey: object({ kind: { const: 'key' }, ...key, links: array(ref('Link')), key: text }, ['expires']),
  };
}

/** Groups and domains. */
function describedSchemas(): Record<string, Record<string, unknown>> {
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

/** Policies, and what they come to. */
function policySchemas(): Record<string, Record<string, unknown>> {
  const { name, description, tags } = resource;
  const targetKind = { enum: [...TARGET_KINDS] };
  const permissions = array({ enum: [...new Set(TARGET_KINDS.flatMap((kind) => permissionsOn(kind).map(nameOf)))] });
  const rules = {
    targetKind: { enum: [...TARGET_KINDS, '*'] },
    target: { const: 'all' },
    targetLinks: array(text),
    bindings: array(object({ permissions: array(text), principalLinks: array(text) })),
  };
  const policy = { kind: { const: 'policy' }, ...resource, origin: { enum: ['default', 'builtin'] }, ...rules };
  const read = { ...readBefore, kind: { const: 'policy' }, name, origin: text };
  const patch = {
    description: patchedText,
    tags: patchedMap,
    targetKind: rules.targetKind,
    target: { enum: ['all', null] },
    targetLinks: { ...rules.targetLinks, type: ['array', 'null'] },
    bindings: { ...rules.bindings, type: ['array', 'null'] },
  };
  const replacement = { ...read, description, tags, ...rules };
  const binding = { principalLink: text, policyLink: text, via: { enum: ['direct', 'group', 'query'] } };
  return {
    Policy: object(policy, ['target', 'targetLinks']),
    PolicyList: list('policy', 'Policy'),
    PolicyPatch: object({ ...read, ...patch }, [...Object.keys(read), ...Object.keys(patch)]),
    PolicyReplacement: object(
      replacement,
      Object.keys(replacement).filter((member) => member !== 'targetKind'),
    ),
    Permissions: object({
      kind: { const: 'permissions' },
      targetKind,
      items: array(object({ name: text, description: text, implies: permissions })),
    }),
    AccessReport: object(
      {
        kind: { const: 'accessreport' },
        target: text,
        at: time,
        permissions: array(
          object({
            name: text,
            description: text,
            bindings: array(object({ ...binding, grantedPermissions: permissions })),
          }),
        ),
      },
      ['at'],
    ),
  };
}

const nameOf = ({ name }: { readonly name: string }): string => name;

/** What the service answers with, by the names that the OpenAPI document gives them; request shapes included. */
export function schemas(): Record<string, Record<string, unknown>> {
  const shapes = shapeSchemas('#/components/schemas/');
  const { properties } = shapes.AuditEventDto as { properties: Record<string, object> };
  return {
    ...shapes,
    ...maintenanceSchemas(),
    ...principalSchemas(),
    ...policySchemas(),
    ...describedSchemas(),
    Error: object({
      status: count,
      message: text,
      code: { type: 'string', enum: Object.keys(ERRORS) },
      details: { type: 'object' },
      id: text,
    }),
    Link: object({ rel: text, href: text }),
    Text: text,
    OpenApi: { type: 'object' },
    Backup: { type: 'string', contentMediaType: 'application/vnd.sqlite3' },
    Health: object({ status: text }),
    PublishAcknowledgement: object({ id: uuid, message: text }),
    BulkItem: {
      oneOf: [
        { $ref: '#/components/schemas/AuditEventDto' },
        object({ idempotencyKey: text, event: ref('AuditEventDto') }, ['idempotencyKey']),
      ],
    },
    BulkResult: object({
      kind: { const: 'bulkresult' },
      items: array({
        oneOf: [
          object({ index: count, id: uuid, status: { enum: [201, 202] }, message: text }),
          object({ index: count, status: { type: 'integer', minimum: 400 }, error: ref('Error') }),
        ],
      }),
      succeeded: count,
      failed: count,
    }),
    AuditEvent: {
      type: 'object',
      properties: { ...properties, id: uuid, eventTime: time, postedTime: time, receivedTime: time },
      required: ['id', 'resource', 'eventTime', 'postedTime', 'receivedTime', 'requestId', 'context', 'subject'],
      additionalProperties: false,
    },
    AuditEventEnvelope: object({
      kind: { const: 'auditevent' },
      itemKind: { const: 'auditevent' },
      item: ref('AuditEvent'),
      query: map,
      links: array(ref('Link')),
    }),
    AuditEventList: object({
      kind: { const: 'queryresult' },
      itemKind: { const: 'auditevent' },
      items: array(ref('AuditEvent')),
      query: map,
      links: array(ref('Link')),
    }),
    AuditExportLine: {
      oneOf: [ref('AuditEvent'), object({ kind: { const: 'exportend' }, count, cursor: text })],
    },
    AuditContext: object(
      {
        kind: { const: 'auditctx' },
        id: uuid,
        name: text,
        retentionDays: { type: ['integer', 'null'], minimum: 1 },
        count,
        version: { type: 'integer', minimum: 1 },
        created: time,
        lastModified: time,
        links: array(ref('Link')),
      },
      ['id', 'version', 'created', 'lastModified'],
    ),
    AuditContextList: object({
      kind: { const: 'list' },
      itemKind: { const: 'auditctx' },
      items: array(ref('AuditContext')),
      links: array(ref('Link')),
    }),
    Org: object({ kind: { const: 'org' }, ...resource }),
    CreatedOrg: object({ kind: { const: 'org' }, ...resource, serviceAccount: text, key: text }),
  };
}
