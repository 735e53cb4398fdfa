/** A stream's name is its resource's natural key, so "the name is free" means "the stream has no state". */

export function orgStream(name: string): `org/${string}` {
  return `org/${name}`;
}

export function auditContextStream(org: string, name: string): `auditctx/${string}` {
  return `auditctx/${org}/${name}`;
}

/** By e-mail address, in lower case. */
export function userStream(org: string, email: string): `user/${string}` {
  return `user/${org}/${email}`;
}

export function groupStream(org: string, name: string): `group/${string}` {
  return `group/${org}/${name}`;
}

export function serviceAccountStream(org: string, name: string): `serviceaccount/${string}` {
  return `serviceaccount/${org}/${name}`;
}

export function policyStream(org: string, name: string): `policy/${string}` {
  return `policy/${org}/${name}`;
}

export function invitationStream(org: string, id: string): `invitation/${string}` {
  return `invitation/${org}/${id}`;
}

/** Looking a key up by its hash is one step. */
export function keyStream(hash: string): `key/${string}` {
  return `key/${hash}`;
}

/** Its version counts the changes of what anyone in the organization may do. */
export function authzStream(org: string): `authz/${string}` {
  return `authz/${org}`;
}
