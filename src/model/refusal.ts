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
