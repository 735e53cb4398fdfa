import { path } from '../../client/api-client.js';
import { linkTo } from '../../contract/links.js';
import { UsageError } from '../output/failures.js';

/** The link of a resource, its reference as a user wrote it. E-mail addresses are compared in lower case. */
export function linkOf(org: string, kind: string, ref: string): string {
  // Throws for what no path can carry.
  path`/${ref}`;
  return linkTo(org, kind, kind === 'user' ? ref.toLowerCase() : ref);
}

/** What people may write for a link, from the shortest form that still says which kind is meant. */
const PRINCIPAL_FORMS = 'an e-mail address, user/REF, serviceaccount/NAME, group/NAME or a link';

/**
 * The link of a principal in one of the `PRINCIPAL_FORMS`; a text that begins with a slash is a link. Throws `UsageError`
 * for any other text.
 */
export function principalLink(org: string, option: string, written: string): string {
  if (written.startsWith('/')) return written;
  const [, kind, ref] = /^(user|group|serviceaccount)\/(.+)$/s.exec(written) ?? [];
  if (kind !== undefined && ref !== undefined) return linkOf(org, kind, ref);
  if (written.includes('@')) return linkOf(org, 'user', written);
  throw new UsageError(`${option} takes ${PRINCIPAL_FORMS}, not \`${written}\``);
}
