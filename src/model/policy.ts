import { linkTo, parseLink } from '../contract/links.js';
import { authzChanged } from './authz.js';
import { canonicalJson } from './canonical-json.js';
import type { ControlEvent, Read } from './control-events.js';
import { isGivenMore } from './given.js';
import { refuseGrants } from './grants.js';
import { selfSetReason } from './member-query.js';
import { permissionsOn, TARGET_KINDS, type TargetKind } from './permission.js';
import { checkPrecondition, type Identity, ofSameResource, type Precondition } from './precondition.js';
import { type FindUser, principalLink, usersOf } from './principals.js';
import { ControlRefusal, type Fault } from './refusal.js';
import {
  auditIds,
  begun,
  type Occasion,
  type Origin,
  type Resource,
  type ResourceEvent,
  refuseBuiltinTags,
  revised,
} from './resource.js';
import { groupStream, policyStream } from './streams.js';
import { targetLink } from './targets.js';

/** These principals have these permissions. */
interface Binding {
  readonly permissions: readonly string[];
  /** Users, groups and service accounts. */
  readonly principalLinks: readonly string[];
}

/** What a caller says of a policy. */
export interface PolicyDocument {
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  /** `*`: of the built-in policies, every kind. */
  readonly targetKind: TargetKind | '*';
  /** Every resource of the kind, in place of links. */
  readonly target?: 'all';
  readonly targetLinks?: readonly string[];
  readonly bindings: readonly Binding[];
}

export interface PolicyState extends Resource, PolicyDocument {
  readonly org: string;
  readonly origin: Origin;
}

export type PolicyEvent = ResourceEvent<'policy', PolicyState>;

function policyLink(org: string, name: string): string {
  return linkTo(org, 'policy', name);
}

export interface CreatePolicy extends Occasion {
  readonly org: string;
  readonly name: string;
  readonly document: PolicyDocument;
}

export function decideCreatePolicy(read: Read, command: CreatePolicy): ControlEvent[] {
  const { org, name, document, at, id } = command;
  refuseBuiltinTags(document.tags);
  if (read(policyStream(org, name))) throw new ControlRefusal('already_exists', `a policy named ${name} exists`);
  const data: PolicyState = { ...begun(id(0), at), org, name, origin: 'default', ...checked(read, org, document) };
  const events: ControlEvent[] = [
    { type: 'policy-created', stream: policyStream(org, name), auditId: id(1), data },
    authzChanged(org),
  ];
  refuseGrants(read, command, events);
  return events;
}

export interface EditPolicy extends Occasion {
  readonly org: string;
  readonly name: string;
  /** What becomes of the document; called again whenever another change came first. Throws `ControlRefusal`. */
  readonly revise: (document: PolicyDocument) => PolicyDocument;
  readonly expected?: Precondition;
  readonly identity?: Identity;
}

/** No event where the policy is as it should be already. */
export function decideEditPolicy(read: Read, command: EditPolicy): ControlEvent[] {
  const { org, name, revise, expected, identity = {}, at, id } = command;
  const before = existingPolicy(read, org, name);
  checkPrecondition(expected, before.version);
  const isBuiltin = before.origin === 'builtin';
  const document = ofSameResource(identity, before, () => {
    const sound = revise(documentOf(before));
    return isBuiltin ? sound : checked(read, org, sound, before);
  });
  refuseBuiltinTags(document.tags, before.tags);
  if (isBuiltin) refuseBuiltinRules(before, document);
  const { target: _target, targetLinks: _targetLinks, ...kept } = before;
  const after = revised<PolicyState>(before, { ...kept, ...document }, at);
  if (!after) return [];
  const events = [policyEdited(after, id(0)), authzChanged(org)];
  refuseGrants(read, command, events);
  return events;
}

export interface DeletePolicy extends Occasion {
  readonly org: string;
  readonly name: string;
  readonly expected?: Precondition;
}

export function decideDeletePolicy(read: Read, command: DeletePolicy): ControlEvent[] {
  const { org, name, expected, at } = command;
  const before = existingPolicy(read, org, name);
  checkPrecondition(expected, before.version);
  if (before.origin === 'builtin') throw new ControlRefusal('builtin_resource', `the policy ${name} cannot be deleted`);
  const nextId = auditIds(command);
  return [
    { type: 'policy-deleted', stream: policyStream(org, name), auditId: nextId(), data: before },
    ...policiesWithout(read, org, policyLink(org, name), at, nextId, name),
    authzChanged(org),
  ];
}

/** The policies that name what is deleted, without it: as a principal and as a target. `except` is deleted itself. */
export function policiesWithout(
  read: Read,
  org: string,
  link: string,
  at: string,
  nextId: () => string,
  except?: string,
): PolicyEvent[] {
  return read.all('policy', org).flatMap((before) => {
    if (before.name === except) return [];
    const bindings = before.bindings
      .filter(({ principalLinks: [only, ...others] }) => only !== link || others.length > 0)
      .map((binding) => ({ ...binding, principalLinks: without(binding.principalLinks, link) }));
    const targets = before.targetLinks && { targetLinks: without(before.targetLinks, link) };
    const names = before.bindings.some(({ principalLinks }) => principalLinks.includes(link));
    if (!names && !before.targetLinks?.includes(link)) return [];
    const after = revised<PolicyState>(before, { ...before, ...(names && { bindings }), ...targets }, at);
    return after ? [policyEdited(after, nextId())] : [];
  });
}

/** Whether a policy gives the user, group or service account of this link anything by its own name. */
export function isPrincipal(read: Read, org: string, link: string): boolean {
  return read.all('policy', org).some(({ bindings }) => bindings.some((one) => one.principalLinks.includes(link)));
}

function without(links: readonly string[], link: string): readonly string[] {
  return links.filter((other) => other !== link);
}

function existingPolicy(read: Read, org: string, name: string): PolicyState {
  const policy = read(policyStream(org, name));
  if (!policy) throw new ControlRefusal('not_found', `there is no policy named ${name} in this organization`);
  return policy;
}

function documentOf({ description, tags, targetKind, target, targetLinks, bindings }: PolicyState): PolicyDocument {
  return { description, tags, targetKind, ...(target && { target }), ...(targetLinks && { targetLinks }), bindings };
}

function policyEdited(data: PolicyState, auditId: string): PolicyEvent {
  return { type: 'policy-edited', stream: policyStream(data.org, data.name), auditId, data };
}

/** What the built-in policies grant is what their groups are for: only description and tags may change. */
function refuseBuiltinRules(before: PolicyState, after: PolicyDocument): void {
  const rules = ({ targetKind, target, targetLinks, bindings }: PolicyDocument) =>
    canonicalJson([targetKind, target ?? null, targetLinks ?? null, bindings]);
  if (rules(before) !== rules(after)) {
    throw new ControlRefusal('builtin_resource', `what the policy ${before.name} grants cannot be changed`);
  }
}

/** The document with its links as they are kept, none twice. Throws `validation_failed`, naming every fault. */
function checked(read: Read, org: string, document: PolicyDocument, before?: PolicyState): PolicyDocument {
  const { targetKind, target, targetLinks, bindings } = document;
  const faults: Fault[] = [];
  if ((target === undefined) === (targetLinks === undefined)) {
    faults.push({ pointer: '/target', reason: 'needs either "all" here, or targetLinks' });
  }
  if (targetKind === '*') faults.push({ pointer: '/targetKind', reason: `must be one of ${TARGET_KINDS.join(', ')}` });
  const kind = targetKind === '*' ? undefined : targetKind;
  const findUser = usersOf(read, org);
  const isTarget = (link: string) => kind && targetOf(read, org, kind, link, findUser);
  const isPrincipal = (link: string) => principalLink(read, org, link, findUser);
  const kept: PolicyDocument = {
    ...document,
    ...(targetLinks && { targetLinks: keep(targetLinks, '/targetLinks', isTarget, TARGET, kind ? faults : []) }),
    bindings: bindings.map(({ permissions, principalLinks }, at) => ({
      permissions: kind ? permissionsOf(kind, permissions, `/bindings/${at}/permissions`, faults) : permissions,
      principalLinks: keep(principalLinks, `/bindings/${at}/principalLinks`, isPrincipal, PRINCIPAL, faults),
    })),
  };
  faults.push(...selfSetFaults(read, org, kept, before));
  if (faults.length > 0) throw new ControlRefusal('validation_failed', 'the policy cannot be like this', faults);
  return kept;
}

/** Groups that would be given something, and let in whoever says the right thing of himself. */
function selfSetFaults(read: Read, org: string, document: PolicyDocument, before?: PolicyState): Fault[] {
  return document.bindings.flatMap(({ principalLinks }, at) =>
    principalLinks.flatMap((link, index) => {
      const { kind, ref = '' } = parseLink(link) ?? {};
      const reason = kind === 'group' ? selfSetReason(read(groupStream(org, ref))?.memberQuery) : undefined;
      if (reason === undefined || !isGivenMore(before, document, link)) return [];
      return [{ pointer: `/bindings/${at}/principalLinks/${index}`, reason }];
    }),
  );
}

const TARGET = 'must be the link of an existing resource of the targetKind in this organization';
const PRINCIPAL = 'must be the link of an existing user, group or service account of this organization';

/** What `find` makes of each text; where that is nothing, a fault. */
function keep(
  texts: readonly string[],
  pointer: string,
  find: (text: string) => string | undefined,
  reason: string,
  faults: Fault[],
): readonly string[] {
  const kept = texts.map((text, index) => {
    const found = find(text);
    if (found === undefined) faults.push({ pointer: `${pointer}/${index}`, reason });
    return found ?? text;
  });
  return [...new Set(kept)];
}

function permissionsOf(
  kind: TargetKind,
  permissions: readonly string[],
  pointer: string,
  faults: Fault[],
): readonly string[] {
  const known: readonly string[] = permissionsOn(kind).map(({ name }) => name);
  const reason = `must be a permission on ${kind}: ${known.join(', ')}`;
  return keep(permissions, pointer, (name) => known.find((one) => one === name), reason, faults);
}

function targetOf(read: Read, org: string, kind: TargetKind, link: string, findUser: FindUser): string | undefined {
  const parsed = parseLink(link);
  return parsed?.org === org && parsed.kind === kind ? targetLink(read, org, kind, parsed.ref, findUser) : undefined;
}
