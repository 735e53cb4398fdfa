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

/** Throws `validation_failed` where the body is of another resource. */
export function checkIdentity(said: Identity, resource: Identity | undefined): void {
  const faults: Fault[] = [];
  for (const name of Object.keys(said) as (keyof Identity)[]) {
    if (said[name] !== undefined && said[name] !== resource?.[name]) {
      faults.push({ pointer: `/${name}`, reason: 'cannot be changed; leave it as it was read, or out' });
    }
  }
  if (faults.length > 0) throw new ControlRefusal('validation_failed', 'the body is of another resource', faults);
}
