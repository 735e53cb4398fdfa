import { SERVICE_CONTEXT } from '../contract/kinds.js';
import { type Change, changedDocument, checkPrecondition, ofSameResource, partsOf } from './change.js';
import type { AuditContextEvent, AuditContextState, ControlEvent, Read } from './control-events.js';
import { isSameJson, type Json } from './json.js';
import type { DocumentKind } from './resource-kind.js';
import { auditContextStream } from './streams.js';

/** What is hidden depends on when the log took the record, not on the clock of the process that wrote it. */
export function evolveAuditContext(
  state: AuditContextState | undefined,
  { data }: AuditContextEvent,
  time: number,
): AuditContextState {
  return { ...data, ...hiddenBy(state, data.deniedRetentionDays !== undefined, time) };
}

/** What the settings before have hidden when these ones replace them. */
function hiddenBy(
  before: AuditContextState | undefined,
  hasDenied: boolean,
  now: number,
): Pick<AuditContextState, 'hiddenBefore' | 'deniedHiddenBefore'> {
  return {
    hiddenBefore: before ? servedFrom(before, now) : 0,
    ...(hasDenied && { deniedHiddenBefore: deniedServedFrom(before, now) }),
  };
}

const MINUTE_MS = 60 * 1000;
const DAY_MS = 24 * 60 * 60 * 1000;

/** No event that the log took before this instant is served. Never moves backward while `now` does not. */
export function servedFrom({ retentionDays, hiddenBefore }: AuditContextState, now: number): number {
  return retentionDays === null ? hiddenBefore : Math.max(hiddenBefore, now - retentionDays * DAY_MS);
}

/** For how many days denied attempts are served if the organization has not set it. */
export const DENIED_RETENTION_DAYS = 30;

/** As `servedFrom`, for denied attempts; without settings by the default. To the minute, so that it is the same for many. */
export function deniedServedFrom(settings: AuditContextState | undefined, now: number): number {
  const { deniedRetentionDays: days = DENIED_RETENTION_DAYS, deniedHiddenBefore = 0 } = settings ?? {};
  if (days === null) return deniedHiddenBefore;
  return Math.max(deniedHiddenBefore, Math.floor(now / MINUTE_MS) * MINUTE_MS - days * DAY_MS);
}

/** What a caller says of an audit context. */
export type AuditContextSettings = Pick<AuditContextState, 'retentionDays' | 'deniedRetentionDays' | 'ingest'>;

export interface SetRetention {
  readonly org: string;
  readonly name: string;
  readonly change: Change;
  readonly at: string;
  readonly ids: Readonly<Record<'context' | 'audit', string>>;
}

/** No event where the setting is as it should be already. */
export function decideSetRetention(
  of: DocumentKind<AuditContextSettings>,
  read: Read,
  command: SetRetention,
): ControlEvent[] {
  const { org, name, change, at, ids } = command;
  const stream = auditContextStream(org, name);
  const before = read(stream);
  const parts = partsOf(of.kind, change);
  checkPrecondition(parts.expected, before?.version);
  const settings = settingsOf(name, before);
  const changes = change.how === 'replace' ? withOthers(name, settings, parts.changes) : parts.changes;
  const after = ofSameResource(parts.identity, before ?? { name }, () =>
    changedDocument(of, of.newCheck(), { before: settings, ref: name, how: change.how }, { ...parts, changes }),
  );
  if (isSameJson(settings, after)) return [];
  const { retentionDays, deniedRetentionDays, ingest } = after;
  const data: AuditContextState = {
    id: before?.id ?? ids.context,
    org,
    name,
    retentionDays,
    ...(deniedRetentionDays !== undefined && { deniedRetentionDays }),
    ...(ingest !== undefined && { ingest }),
    ...hiddenBy(before, deniedRetentionDays !== undefined, Date.parse(at)),
    version: (before?.version ?? 0) + 1,
    created: before?.created ?? at,
    lastModified: at,
  };
  return [{ type: 'auditctx-retention-set', stream, auditId: ids.audit, data }];
}

function settingsOf(name: string, state: AuditContextState | undefined): AuditContextSettings {
  const { retentionDays = null, deniedRetentionDays = DENIED_RETENTION_DAYS, ingest } = state ?? {};
  if (name === SERVICE_CONTEXT) return { retentionDays, deniedRetentionDays };
  return { retentionDays, ...(ingest && { ingest }) };
}

/** A setting that a replacement does not name stays: to set the one must not lose the other. */
function withOthers(name: string, settings: AuditContextSettings, changes: Json): Json {
  const isNamed = 'retentionDays' in changes || 'ingest' in changes;
  return isNamed && name !== SERVICE_CONTEXT ? { ...settings, ...changes } : changes;
}
