import { path } from '../../../client/api-client.js';
import { PAGE_SIZE, type Query, queryText } from '../../../client/pages.js';

/** What identifies the resource that events are about. */
export interface EventResource {
  resourceName?: string | undefined;
  resourceId?: string | undefined;
}

/** The path of a list of events. A resource that is named alone has a list of its own; no path can carry `.` and `..`. */
export function eventsPath(org: string, resource: EventResource, query: Query, limit: number): string {
  const { resourceName: name, resourceId: id } = resource;
  const rest: Query = { pageSize: String(Math.min(limit, PAGE_SIZE)), ...query };
  if (isSegment(name)) {
    return path`/audit/org/${org}/resource/name/${name}` + queryText({ ...rest, resourceId: id });
  }
  if (isSegment(id)) return path`/audit/org/${org}/resource/id/${id}` + queryText({ ...rest, resourceName: name });
  return path`/audit/org/${org}` + queryText({ ...rest, resourceName: name, resourceId: id });
}

const isSegment = (text: string | undefined): text is string => text !== undefined && !['', '.', '..'].includes(text);
