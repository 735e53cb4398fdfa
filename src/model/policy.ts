import { parseLink } from '../contract/links.js';
import type { PolicyDocument, PolicyEvent, PolicyState, Read } from './control-events.js';
import { isGivenMore } from './given.js';
import { isSameJson, type Json } from './json.js';
import { selfSetReason } from './member-query.js';
import { permissionsOn, TARGET_KINDS, type TargetKind } from './permission.js';
import { type FindUser, principalLink, usersOf } from './principals.js';
import { ControlRefusal, type Fault } from './refusal.js';
import { revised } from './resource.js';
import { targetLink } from './resource-at.js';
import { groupStream, policyStream } from './streams.js';

export const policyRules = {
  gives: ['create', 'edit'],
  keepsBuiltin: true,
  expand: (_read: Read, _before: PolicyState, patch: Json) => ({
    patch: { ...replacedTarget(patch), ...patch },
    faults: [],
  }),
  settle: (read: Read, org: string, document: PolicyDocument, before?: PolicyState): PolicyDocument =>
    before?.origin === 'builtin' ? document : checked(read, org, document, before),
  refuseEdit: refuseBuiltinRules,
} as const;

/** `target` and `targetLinks` exclude each other: a patch that sets one removes the other. */
function replacedTarget({ target = null, targetLinks = null }: Json): object {
  if (target !== null) return { targetLinks: null };
  return targetLinks === null ? {} : { target: null };
}

/**
 * The policies that name what is deleted, without it: as a principal and as a target. `except` is the stream of
 * what is deleted, which may be a policy.
 */
export function policiesWithout(
  read: Read,
  org: string,
  link: string,
  at: string,
  nextId: () => string,
  except: string,
): PolicyEvent[] {
  return read.all('policy', org).flatMap((before) => {
    if (policyStream(org, before.name) === except) return [];
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
  return read.naming('policy', link).some((policy) => policy.org === org);
}

function without(links: readonly string[], link: string): readonly string[] {
  return links.filter((other) => other !== link);
}

function policyEdited(data: PolicyState, auditId: string): PolicyEvent {
  return { type: 'policy-edited', stream: policyStream(data.org, data.name), auditId, data };
}

/** What the built-in policies grant is what their groups are for: only description and tags may change. */
function refuseBuiltinRules(before: PolicyState, after: PolicyDocument): void {
  if (before.origin !== 'builtin') return;
  const rules = ({ targetKind, target, targetLinks, bindings }: PolicyDocument) => {
    return { targetKind, target: target ?? null, targetLinks: targetLinks ?? null, bindings };
  };
  if (!isSameJson(rules(before), rules(after))) {
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

/** Groups that the policy would grant something to, and whose members could add themselves. */
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
  // The links of audit contexts themselves are those of the audit API.
  const parsed = parseLink(kind === 'auditctx' ? link.replace(/^\/audit\//, '/') : link);
  return parsed?.org === org && parsed.kind === kind ? targetLink(read, org, kind, parsed.ref, findUser) : undefined;
}
