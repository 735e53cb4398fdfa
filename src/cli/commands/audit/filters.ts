import { Option } from 'clipanion';
import type { EventResource } from '../../../client/pages.js';
import { principalLink } from '../../args/links.js';
import { ago, instant } from '../../args/moments.js';
import { ApiCommand } from '../../command.js';
import { UsageError } from '../../output/failures.js';

export const unavailable = { formats: ['tf', 'crd'] as const, subject: 'audit events' };

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
  subjectEmail = Option.String('--subject-email', { description: 'e-mail address of who did it' });
  publisher = Option.String('--publisher', {
    description: 'whose key it was sent with: serviceaccount/ci, a user, or a link',
  });
  requestId = Option.String('--request-id', { description: 'request the event belongs to' });
  resultStatus = Option.String('--result-status', { description: 'status of the result' });
  from = Option.String('--from', { description: 'first instant, ISO 8601' });
  since = Option.String('--since', { description: 'the same as a span back from now: 7d, 12h, 1h30m' });
  to = Option.String('--to', { description: 'instant behind the last, ISO 8601' });
  until = Option.String('--until', { description: 'the same as a span back from now' });
  protected override readonly unavailable: ApiCommand['unavailable'] = unavailable;

  protected get resource(): EventResource {
    return { resourceName: this.resourceName, resourceId: this.resourceId };
  }

  /** The filter that needs the organization, as a query parameter. */
  protected publishedBy(org: string): Record<string, string | undefined> {
    return { publisher: this.publisher && principalLink(org, '--publisher', this.publisher) };
  }

  /** The other filters beside the resource, as query parameters. */
  protected filters(): Record<string, string | undefined> {
    if (this.from !== undefined && this.since !== undefined) throw new UsageError('give --from or --since, not both');
    if (this.to !== undefined && this.until !== undefined) throw new UsageError('give --to or --until, not both');
    return {
      contextName: this.contextName,
      actionType: this.actionType,
      resourceType: this.resourceType,
      location: this.location,
      gvcAlias: this.gvcAlias,
      podId: this.podId,
      subjectEmail: this.subjectEmail,
      requestId: this.requestId,
      resultStatus: this.resultStatus,
      fromEvent: this.since !== undefined ? ago('--since', this.since) : this.from && instant('--from', this.from),
      toEvent: this.until !== undefined ? ago('--until', this.until) : this.to && instant('--to', this.to),
    };
  }
}
