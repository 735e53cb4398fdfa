import { path } from '../../client/api-client.js';
import { UsageError } from '../output/failures.js';

/** A resource within an organization, as the path on the API that names it. */
export const linkTo = (org: string, kind: string, ref: string): string =>
  path`/org/${org}/${kind}/${ref}`.replaceAll('%40', '@');

/** The link of a user as the service keeps it: addresses are the same in any case. */
export const userLink = (org: string, ref: string): string => linkTo(org, 'user', ref.toLowerCase());

/** What people may write for a link, from the shortest form that still says which kind is meant. */
const PRINCIPAL_FORMS = 'an e-mail address, user/REF, serviceaccount/NAME, group/NAME or a link';

/**
 * The link of a principal in one of the `PRINCIPAL_FORMS`; what begins with a slash is a link as it stands. Throws
 * `UsageError` for what is none of them.
 */
export function principalLink(org: string, option: string, written: string): string {
  if (written.startsWith('/')) return written;
  const [, kind, ref] = /^(user|group|serviceaccount)\/(.+)$/s.exec(written) ?? [];
  if (kind === 'user') return userLink(org, ref ?? '');
  if (kind !== undefined && ref !== undefined) return linkTo(org, kind, ref);
  if (written.includes('@')) return userLink(org, written);
  throw new UsageError(`${option} takes ${PRINCIPAL_FORMS}, not \`${written}\``);
}
