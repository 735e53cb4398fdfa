/** What the client knows of a kind of resource. */
export interface Kind {
  /** The word after `svc`, and the `kind` that the service writes into its resources. */
  readonly name: 'user' | 'group' | 'serviceaccount' | 'policy' | 'domain' | 'invitation';
  /** One of them, in a sentence. */
  readonly noun: string;
  /** Several of them, in a sentence. */
  readonly plural: string;
  /** Where the service has them: `/org/{org}/{segment}`. */
  readonly segment: string;
  /** A reference as it may stand in an example. */
  readonly example: string;
}

export const USER: Kind = {
  name: 'user',
  noun: 'user',
  plural: 'users',
  segment: 'user',
  example: 'ann@example.com',
};
export const GROUP: Kind = { name: 'group', noun: 'group', plural: 'groups', segment: 'group', example: 'devs' };
export const SERVICE_ACCOUNT: Kind = {
  name: 'serviceaccount',
  noun: 'service account',
  plural: 'service accounts',
  segment: 'serviceaccount',
  example: 'ci',
};
export const POLICY: Kind = {
  name: 'policy',
  noun: 'policy',
  plural: 'policies',
  segment: 'policy',
  example: 'deployers',
};
export const DOMAIN: Kind = {
  name: 'domain',
  noun: 'domain',
  plural: 'domains',
  segment: 'domain',
  example: 'www.example.com',
};
export const INVITATION: Kind = {
  name: 'invitation',
  noun: 'invitation',
  plural: 'invitations',
  segment: 'invitation',
  example: '01890a5d-ac96-774b-bcce-b302099a8057',
};
