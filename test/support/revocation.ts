import { setTimeout as delay } from 'node:timers/promises';
import type { TargetKind } from '../../src/model/permission.js';
import { type Answer, Api } from './api.js';
import type { Seed } from './seed.js';

/** How somebody who may do something comes to lose it. */
export const WAYS = [
  'key removed',
  'service account deleted',
  'user deleted',
  'policy deleted',
  'policy edited',
  'taken out of the group',
  'key expired',
] as const;
export type Way = (typeof WAYS)[number];

/** A principal that has `manage` on a kind, until it is revoked in its way. */
export interface Revocable {
  readonly key: string;
  /** 401 when nobody is left who speaks; 403 when that one may do less. */
  readonly status: 401 | 403;
  /** Resolves when the revocation is answered: from then on the caller may do nothing any more. */
  revoke(): Promise<void>;
}

/** Makes the principal and what gives it the permission; with `of`, once the service serves, it can be revoked. */
export function seedRevocable(
  seed: Seed,
  org: string,
  name: string,
  kind: TargetKind,
  way: Way,
): { of(admin: Api): Promise<Revocable> } {
  const isUser = way === 'user deleted';
  const link = isUser ? seed.user(org, `${name}@example.com`) : seed.account(org, name);
  const isMember = way === 'taken out of the group';
  const principalLink = isMember ? seed.group(org, name, { memberLinks: [link] }) : link;
  const bindings = [{ permissions: ['manage'], principalLinks: [principalLink] }];
  seed.policy(org, name, { targetKind: kind, target: 'all', bindings });
  const key = seed.key(link);
  return {
    async of(admin) {
      const status = way.startsWith('policy') || isMember ? 403 : 401;
      if (way === 'key expired') return { status, ...(await expiringKey(admin, link)) };
      const revoke = await revocationOf(admin, org, name, link, way);
      return { key, status, revoke: async () => required(await revoke()) };
    },
  };
}

async function revocationOf(
  admin: Api,
  org: string,
  name: string,
  link: string,
  way: Exclude<Way, 'key expired'>,
): Promise<() => Promise<Answer<unknown>>> {
  const json = { 'content-type': 'application/json' };
  switch (way) {
    case 'key removed': {
      const { body } = await admin.get<{ keys: readonly { id: string }[] }>(link);
      return () => admin.post(`${link}/-removeKey`, { id: body.keys[0]?.id });
    }
    case 'service account deleted':
    case 'user deleted':
      return () => admin.send('DELETE', link);
    case 'policy deleted':
      return () => admin.send('DELETE', `/org/${org}/policy/${name}`);
    case 'policy edited':
      return () => admin.send('PATCH', `/org/${org}/policy/${name}`, '{"bindings":[]}', json);
    case 'taken out of the group':
      return () => admin.send('PATCH', `/org/${org}/group/${name}`, '{"memberLinks":[]}', json);
  }
}

async function expiringKey(admin: Api, link: string): Promise<Pick<Revocable, 'key' | 'revoke'>> {
  // Only what is made can expire: the key is told when its last moment is known.
  const expires = Date.now() + 2_000;
  const { body } = await admin.post<{ key: string }>(`${link}/-addKey`, {
    description: 'short',
    expires: new Date(expires).toISOString(),
  });
  const holder = new Api(admin.url, body.key);
  const revoke = async () => {
    await delay(expires + 1 - Date.now());
    // By the time of the log, which a process knows as well as it has measured it.
    while ((await holder.send('GET', link)).status !== 401) await delay(20);
  };
  return { key: body.key, revoke };
}

function required({ status, text }: Answer<unknown>): void {
  if (status >= 300) throw new Error(`the revocation answered ${status}: ${text}`);
}
