import { ControlRefusal, type Fault } from './refusal.js';

/** What `If-Match` asks of a resource: this version, or `*`: that there is one. */
export type Precondition = number | '*';

/** Throws `precondition_failed`. A resource that is not there has no version. */
export function checkPrecondition(expected: Precondition | undefined, version: number | undefined): void {
  if (expected === undefined || expected === version || (expected === '*' && version !== undefined)) return;
  const found = version === undefined ? 'does not exist' : `is at version ${version}`;
  throw new ControlRefusal('precondition_failed', `the resource ${found}`);
}

/** What a body that was read earlier says of its resource, and a change cannot alter. */
export interface Identity {
  readonly id?: string;
  readonly name?: string;
  readonly created?: string;
  readonly email?: string;
  readonly idp?: string;
  readonly origin?: string;
}

/**
 * What `decide` makes of a body that says it is of this resource. Throws `validation_failed` with every fault: where it is
 * of another, and what `decide` finds besides.
 */
export function ofSameResource<Result>(said: Identity, resource: Identity, decide: () => Result): Result {
  const faults = identityFaults(said, resource);
  if (faults.length === 0) return decide();
  throw new ControlRefusal('validation_failed', 'the body is of another resource', [...faults, ...faultsOf(decide)]);
}

function identityFaults(said: Identity, resource: Identity): Fault[] {
  const altered = (Object.keys(said) as (keyof Identity)[]).filter((name) => said[name] !== resource[name]);
  return altered.map((name) => ({
    pointer: `/${name}`,
    reason: 'cannot be changed; leave it as it was read, or out',
  }));
}

/** Of what is refused in any case. */
function faultsOf(decide: () => unknown): readonly Fault[] {
  try {
    decide();
    return [];
  } catch (error) {
    if (error instanceof ControlRefusal) return error.faults;
    throw error;
  }
}
