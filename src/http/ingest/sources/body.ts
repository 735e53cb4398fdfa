import type { FastifyRequest } from 'fastify';
import { trimmed } from '../../../contract/json-tokens.js';
import type { IngestSettings, Preset } from '../../../model/ingest.js';
import { eachInSteps, type Steps } from '../../../platform/turns.js';
import type { PackedBody } from '../../server/unpacked.js';
import type { Candidate } from '../candidate.js';
import { type Mapper, mapperOf } from '../mapping.js';
import { type Alone, concatenatedObjects, objectAlone } from './alone.js';
import { cloudEvent, cloudEventsMode, inJson } from './cloudevents.js';
import { checkCount, itemsOf, lines, ownOrMapped } from './lines.js';

/** Where a body arrives: `settings` are those of the context. */
export interface Arrival {
  readonly contextName: string;
  readonly settings: IngestSettings | undefined;
  readonly now: number;
}

/** What a request sends: CloudEvents, a list of audit events of Kubernetes or records of CloudTrail, or else items or lines. */
export function* candidates({ body, headers }: FastifyRequest, arrival: Arrival): Steps<Candidate[]> {
  const { type, bytes } = body as PackedBody;
  const { settings, contextName, now } = arrival;
  const by = (preset: Preset) => mapperOf({ ...settings, preset }, contextName, now);
  const mode = cloudEventsMode(type, headers);
  if (mode) {
    const map = by('cloudevents');
    const texts = yield* cloudEventTexts(mode, type, headers, bytes);
    return yield* each(texts, (raw) => cloudEvent(raw, map, now));
  }
  const alone = yield* objectAlone(bytes);
  const list = alone && listIn(alone, settings);
  const items = list && (yield* itemsIn(alone, list));
  if (items && list === 'items') return yield* each(items, by('kubernetes'));
  const map = settings && mapperOf(settings, contextName, now);
  if (list) return yield* ownOrMapped(items ?? [trimmed(bytes)], now, map);
  const texts = alone ? undefined : yield* streamOf(bytes, settings);
  return texts ? yield* ownOrMapped(texts, now, map) : yield* lines(bytes, now, map);
}

function each(texts: readonly Buffer[], read: Mapper): Steps<Candidate[]> {
  checkCount(texts);
  return eachInSteps(texts, (raw) => ({ raw, event: () => read(raw) }));
}

/** What the list is called of an `EventList` of Kubernetes or a file of CloudTrail. */
function listIn({ members }: Alone, settings: IngestSettings | undefined): 'items' | 'Records' | undefined {
  if (isEventList(members)) return 'items';
  return settings?.preset === 'cloudtrail' && members.has('Records') ? 'Records' : undefined;
}

/** What may be beside a list: it says what the list is, and is not recorded. */
const BESIDE = new Set(['kind', 'apiVersion', 'metadata']);

/** Undefined if the object has more than its list, or no list: it must be recorded whole. Go writes an empty list as null. */
function* itemsIn({ members, hasMore }: Alone, list: 'items' | 'Records'): Steps<Buffer[] | undefined> {
  const text = members.get(list);
  if (!text || hasMore || [...members.keys()].some((name) => name !== list && !BESIDE.has(name))) return undefined;
  if (text.length < 16 && text.toString().trim() === 'null') return [];
  return yield* itemsOf(text);
}

/** Of the format `json_stream` of Fluent Bit. */
function* streamOf(bytes: Buffer, settings: IngestSettings | undefined): Steps<Buffer[] | undefined> {
  return settings?.preset === 'fluentbit' ? yield* concatenatedObjects(bytes) : undefined;
}

function* cloudEventTexts(
  mode: 'structured' | 'batched' | 'binary',
  type: string,
  headers: FastifyRequest['headers'],
  bytes: Buffer,
): Steps<Buffer[]> {
  if (mode === 'binary') return [yield* inJson(type, headers, bytes)];
  return (mode === 'batched' && (yield* itemsOf(bytes))) || [bytes];
}

function isEventList(members: Alone['members']): boolean {
  const text = (name: 'kind' | 'apiVersion') => members.get(name)?.toString().trim() ?? '';
  return text('kind') === '"EventList"' && text('apiVersion').startsWith('"audit.k8s.io/');
}
