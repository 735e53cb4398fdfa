import { nameOf } from '../contract/links.js';
import type { PermissionName, TargetKind } from './permission.js';

/** A decision that refuses. The code is one of the error catalogue's; the model knows no transport. */
export class ControlRefusal extends Error {
  override readonly name = 'ControlRefusal';

  constructor(
    readonly code:
      | 'already_exists'
      | 'builtin_resource'
      | 'builtin_tag'
      | 'conflict'
      | 'forbidden'
      | 'not_found'
      | 'precondition_failed'
      | 'quota_exceeded'
      | 'unauthenticated'
      | 'validation_failed',
    message: string,
    /** Of `validation_failed`: what is wrong where. */
    readonly faults: readonly Fault[] = [],
    /** Of `forbidden`: what the caller lacks. */
    readonly missing?: Missing,
  ) {
    super(message);
  }
}

export interface Fault {
  /** JSON pointer (RFC 6901) into the body. */
  readonly pointer: string;
  readonly reason: string;
}

/** A permission that somebody would need: on one resource or, without a target, on more than one. */
export interface Missing {
  readonly kind: TargetKind;
  readonly permission: PermissionName;
  /** Link of the resource; present only if the reader of the refusal may view it. */
  readonly target?: string;
}

/** What the holder of the link lacks in its organization, and what to do. `on` says in words what the permission is on. */
export function lacksText(link: string, org: string, permission: PermissionName, on: string): string {
  return `${nameOf(link)} lacks "${permission}" on ${on}; ask someone of ${org} who holds it`;
}

/** Why a change that takes many resources along is refused, and what to do. No request is as large as one record may be. */
export function tooMuchAtOnce(resources: number): string {
  return (
    `the change would alter ${resources} resources at once, which is more than one record holds; nothing was changed. ` +
    'Take what it is about out of the groups and policies that name it, a few at a time, and then repeat it'
  );
}
