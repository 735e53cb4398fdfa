import type { Logger } from 'pino';
import type { Read } from '../model/control-events.js';
import { groupLink } from '../model/group.js';
import { selfSetTerms } from '../model/member-query.js';
import { isPrincipal } from '../model/policy.js';

/**
 * Warns of groups whose query reads properties that users set themselves. They were recorded before such queries were
 * refused, and work until they are changed.
 */
export function warnOfSelfSetQueries(read: Read, logger: Pick<Logger, 'warn'>): void {
  for (const { name: org } of read.all('org', '')) {
    for (const { name: group, memberQuery } of read.all('group', org)) {
      const [term] = selfSetTerms(memberQuery);
      if (!term || !isPrincipal(read, org, groupLink(org, group))) continue;
      logger.warn({ org, group, property: term.name }, MESSAGE);
    }
  }
}

const MESSAGE =
  'a policy names this group, and its memberQuery reads what users choose themselves: change the query, or take the group ' +
  'out of the policies';
