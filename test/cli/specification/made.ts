import { expectUsageError, type Group, type Live } from '../support/live.js';
import type { Checks } from './verify.js';

/** What the tables promise of users and of groups alike. */
export type Kind = 'user' | 'group';

export interface Made {
  /** How commands refer to it. */
  readonly ref: string;
  readonly path: string;
}

export async function make(live: Live, kind: Kind, more: object = {}): Promise<Made> {
  const ref = kind === 'user' ? (await live.user(more)).email : (await live.group(more)).name;
  return { ref, path: `/org/${live.org.name}/${kind}/${ref}` };
}

/** As it is now. */
export async function read(live: Live, { path }: Made): Promise<Group> {
  return (await live.org.api.get<Group>(path)).body;
}

export const requiresRef = (kind: Kind, command: string, ref: string, ...rest: string[]): Checks => ({
  [`${kind} ${command} ${ref} required`]: (live) => expectUsageError(live, [kind, command, ...rest], '<ref>'),
});
