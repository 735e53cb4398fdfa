import { linkTo } from '../contract/links.js';
import { authzChanged } from './authz.js';
import type { ControlEvent, Read } from './control-events.js';
import type { DomainSpec } from './domain-spec.js';
import { policiesWithout } from './policy.js';
import { checkPrecondition, type Identity, ofSameResource, type Precondition } from './precondition.js';
import { ControlRefusal } from './refusal.js';
import {
  auditIds,
  begun,
  type Occasion,
  type Resource,
  type ResourceEvent,
  refuseBuiltinTags,
  revised,
} from './resource.js';
import { domainStream } from './streams.js';

/** What a caller says of a domain. */
export interface DomainDocument {
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly spec: DomainSpec;
}

export interface DomainState extends Resource, DomainDocument {
  readonly org: string;
}

export type DomainEvent = ResourceEvent<'domain', DomainState>;

function domainLink(org: string, name: string): string {
  return linkTo(org, 'domain', name);
}

export interface CreateDomain extends Occasion {
  readonly org: string;
  readonly name: string;
  readonly document: DomainDocument;
}

/** The name is unique over the whole service; the refusal does not say whose it is. */
export function decideCreateDomain(read: Read, command: CreateDomain): ControlEvent[] {
  const { org, name, document, at, id } = command;
  refuseBuiltinTags(document.tags);
  if (read(domainStream(name))) throw new ControlRefusal('already_exists', `a domain named ${name} exists`);
  const data: DomainState = { ...begun(id(0), at), org, name, ...document };
  return [{ type: 'domain-created', stream: domainStream(name), auditId: id(1), data }];
}

export interface EditDomain extends Occasion {
  readonly org: string;
  readonly name: string;
  /** What becomes of the document; called again whenever another change came first. Throws `ControlRefusal`. */
  readonly revise: (document: DomainDocument) => DomainDocument;
  readonly expected?: Precondition;
  readonly identity?: Identity;
}

/** No event where the domain is as it should be already. */
export function decideEditDomain(read: Read, command: EditDomain): ControlEvent[] {
  const { org, name, revise, expected, identity = {}, at, id } = command;
  const before = existingDomain(read, org, name);
  checkPrecondition(expected, before.version);
  const { description, tags, spec } = before;
  const document = ofSameResource(identity, before, () => revise({ description, tags, spec }));
  refuseBuiltinTags(document.tags, tags);
  const after = revised<DomainState>(before, { ...before, ...document }, at);
  return after ? [{ type: 'domain-edited', stream: domainStream(name), auditId: id(0), data: after }] : [];
}

export interface DeleteDomain extends Occasion {
  readonly org: string;
  readonly name: string;
  readonly expected?: Precondition;
}

/** The policies that name the domain lose it in the same record. */
export function decideDeleteDomain(read: Read, command: DeleteDomain): ControlEvent[] {
  const { org, name, expected, at } = command;
  const before = existingDomain(read, org, name);
  checkPrecondition(expected, before.version);
  const nextId = auditIds(command);
  return [
    { type: 'domain-deleted', stream: domainStream(name), auditId: nextId(), data: before },
    ...policiesWithout(read, org, domainLink(org, name), at, nextId),
    authzChanged(org),
  ];
}

/** A domain of another organization is as unknown as one that is not there. */
function existingDomain(read: Read, org: string, name: string): DomainState {
  const domain = read(domainStream(name));
  if (domain?.org !== org)
    throw new ControlRefusal('not_found', `there is no domain named ${name} in this organization`);
  return domain;
}
