/** What the client knows of a kind of resource. */
export interface Kind {
  /** The word after `svc`, and the `kind` that the service writes into its resources. */
  readonly name: 'user' | 'group' | 'serviceaccount' | 'policy' | 'domain';
  /** One of them, in a sentence. */
  readonly noun: string;
  /** Where the service has them: `/org/{org}/{segment}`. */
  readonly segment: string;
}

export const USER: Kind = { name: 'user', noun: 'user', segment: 'user' };
export const GROUP: Kind = { name: 'group', noun: 'group', segment: 'group' };
export const SERVICE_ACCOUNT: Kind = { name: 'serviceaccount', noun: 'service account', segment: 'serviceaccount' };
export const POLICY: Kind = { name: 'policy', noun: 'policy', segment: 'policy' };
export const DOMAIN: Kind = { name: 'domain', noun: 'domain', segment: 'domain' };
