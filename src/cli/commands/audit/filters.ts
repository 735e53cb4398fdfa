import { Option } from 'clipanion';
import { type Query } from '../../../client/pages.js';
import { principalLink } from '../../args/links.js';
import { ago, instant } from '../../args/moments.js';
import { ApiCommand, type Unavailable, undeclared } from '../../command.js';
import { UsageError } from '../../output/failures.js';
import type { EventResource } from './paths.js';

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
  from = Option.String('--from', { description: 'start time, ISO 8601' });
  since = Option.String('--since', { description: 'start time as a span back from now: 7d, 12h, 1h30m' });
  to = Option.String('--to', { description: 'end time (exclusive), ISO 8601' });
  until = Option.String('--until', { description: 'end time (exclusive) as a span back from now' });
  protected override readonly unavailable: Unavailable = undeclared('audit events');

  protected get resource(): EventResource {
    return { resourceName: this.resourceName, resourceId: this.resourceId };
  }

  /** The other filters beside the resource, as query parameters; `publisher` needs the organization. */
  protected async filters(): Promise<{ org: string; filters: Query }> {
    if (this.from !== undefined && this.since !== undefined) throw new UsageError('give --from or --since, not both');
    if (this.to !== undefined && this.until !== undefined) throw new UsageError('give --to or --until, not both');
    const times = {
      fromEvent: this.since !== undefined ? ago('--since', this.since) : this.from && instant('--from', this.from),
      toEvent: this.until !== undefined ? ago('--until', this.until) : this.to && instant('--to', this.to),
    };
    const { contextName, actionType, resourceType, location, gvcAlias, podId } = this;
    const { subjectEmail, requestId, resultStatus } = this;
    const org = await this.requireOrg();
    const publisher = this.publisher && principalLink(org, '--publisher', this.publisher);
    const things = { contextName, actionType, resourceType, location, gvcAlias, podId };
    return { org, filters: { ...things, subjectEmail, requestId, resultStatus, ...times, publisher } };
  }
}
