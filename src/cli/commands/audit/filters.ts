import { Option } from 'clipanion';
import { type Query } from '../../../client/pages.js';
import { principalLink } from '../../args/links.js';
import { moment, SINCE, UNTIL } from '../../args/moments.js';
import { ApiCommand, type Unavailable, undeclared } from '../../command.js';
import { UsageError } from '../../output/failures.js';
import type { EventResource } from './paths.js';

/** Of `--wide`. */
export const WIDE = 'all columns and whole identifiers, also on a terminal';

/** A command on the events that its filters choose: exact, combined with AND. */
export abstract class AuditFilterCommand extends ApiCommand {
  resourceName = Option.String('--resource-name', { description: 'name of the resource' });
  resourceId = Option.String('--resource-id', { description: 'identifier of the resource' });
  resourceType = Option.String('--resource-type', { description: 'type of the resource' });
  contextName = Option.String('--context', { description: 'audit context' });
  actionType = Option.String('--action-type', { description: 'type of the action' });
  location = Option.String('--location', { description: 'location' });
  gvcAlias = Option.String('--gvc-alias', { description: 'alias of the group of workloads' });
  podId = Option.String('--pod-id', { description: 'pod' });
  subjectEmail = Option.String('--subject-email', { description: 'e-mail address of the subject' });
  publisher = Option.String('--publisher', {
    description: 'whose key it was sent with: serviceaccount/ci, a user, or a link',
  });
  requestId = Option.String('--request-id', { description: 'request the event belongs to' });
  resultStatus = Option.String('--result-status', { description: 'status of the result' });
  since = Option.String('--since', { description: SINCE });
  until = Option.String('--until', { description: UNTIL });
  from = Option.String('--from', { description: 'the same as --since' });
  to = Option.String('--to', { description: 'the same as --until' });
  protected override readonly unavailable: Unavailable = undeclared('audit events');

  protected get resource(): EventResource {
    return { resourceName: this.resourceName, resourceId: this.resourceId };
  }

  /** The other filters beside the resource, as query parameters; `publisher` needs the organization. */
  protected async filters(): Promise<{ org: string; filters: Query }> {
    if (this.from !== undefined && this.since !== undefined) throw new UsageError('give --from or --since, not both');
    if (this.to !== undefined && this.until !== undefined) throw new UsageError('give --to or --until, not both');
    const times = {
      fromEvent: moment('--since', this.since) ?? moment('--from', this.from),
      toEvent: moment('--until', this.until) ?? moment('--to', this.to),
    };
    const { contextName, actionType, resourceType, location, gvcAlias, podId } = this;
    const { subjectEmail, requestId, resultStatus } = this;
    const org = await this.requireOrg();
    const publisher = this.publisher && principalLink(org, '--publisher', this.publisher);
    const things = { contextName, actionType, resourceType, location, gvcAlias, podId };
    return { org, filters: { ...things, subjectEmail, requestId, resultStatus, ...times, publisher } };
  }
}
