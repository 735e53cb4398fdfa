import { randomUUID } from 'node:crypto';

/** An organization for one test, as `new AuditClient({ ...org, context: 'orders' })` of `@control-service/client` takes it. */
export interface TestOrg {
  /** The address of the service. */
  readonly endpoint: string;
  /** The name of the organization. */
  readonly org: string;
  /** A key that may do everything in the organization. */
  readonly key: string;
}

/** Creates an organization with a name that no other has, unless one is given. Throws if the service refuses it. */
export async function createOrg(endpoint: string, rootKey: string, name = `test-${randomUUID()}`): Promise<TestOrg> {
  const answer = await fetch(`${endpoint}/org`, {
    method: 'POST',
    headers: { authorization: `Bearer ${rootKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`the service did not create the organization ${name}: ${answer.status} ${text}`);
  const { key } = JSON.parse(text) as { readonly key: string };
  return { endpoint, org: name, key };
}
