import type { DomainSpec } from './domain-spec.js';
import type { Resource, ResourceEvent } from './resource.js';

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
