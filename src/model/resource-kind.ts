import type { Kind } from '../contract/kinds.js';
import type { Read } from './control-events.js';
import type { Json } from './json.js';
import type { Fault } from './refusal.js';
import type { Origin, Resource } from './resource.js';

/** Finds every fault of a document. */
export type Check = (document: unknown) => readonly Fault[];

/** How a kind of resource is described by documents: what clients send, whole or as a patch. */
export interface DocumentKind<Document extends object> {
  readonly kind: Kind;
  /** A check for the documents of one command, which is asked again when another change came first. */
  newCheck(): Check;
  /** The document of a sound body, with its defaults. They may depend on the reference of the resource. */
  complete(body: never, ref: string): Document;
}

/** The state of a control resource of an organization. */
export interface ResourceState extends Resource {
  readonly org: string;
  readonly origin?: Origin;
}

/** What of a resource its document says, whatever the kind. */
export type ResourceDocument = Pick<Resource, 'description' | 'tags'>;

/** A kind of resource that requests create, edit and delete, with the rules that only this kind has. All are pure. */
export interface ResourceKind<
  State extends ResourceState = ResourceState,
  Document extends ResourceDocument = ResourceDocument,
> extends DocumentKind<Document> {
  /** Finds every fault of a body that creates one: a document and the reference. Absent: requests do not create it. */
  newCreationCheck?(): Check;
  /** The changes that can give somebody a permission: `refuseGrants` judges them, and they move `authz/{org}`. */
  readonly gives: readonly ('create' | 'edit' | 'delete')[];
  /** Whether those that the service made with the organization stay. */
  readonly keepsBuiltin?: boolean;
  /** The members of a patch with operators replaced by what they amount to. */
  expand?(read: Read, before: State, patch: Json): { readonly patch: Json; readonly faults: readonly Fault[] };
  /** The document with its links as they are kept. Throws `validation_failed`. */
  settle?(read: Read, org: string, document: Document, before?: State): Document;
  /** Throws `ControlRefusal` for an edit that must not be. */
  refuseEdit?(before: State, after: State): void;
  /** What the audit log calls an edit, where `edit` says too little. */
  action?(before: State, after: State): string | undefined;
}
