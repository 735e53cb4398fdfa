import { LIMITS } from '../../contract/limits.js';
import { isObject } from '../../model/json.js';
import { type Verbatim, VerbatimJson, type VerbatimShape } from '../../platform/verbatim-json.js';
import { AuditEventDto } from '../../shapes/audit-event.js';
import { verbatimShape } from '../../shapes/compiled.js';
import { compacted } from './compacted.js';
import { type JsonDocument, parseJson } from './parse.js';

let shape: VerbatimShape | undefined;
let events: VerbatimJson | undefined;

/**
 * As `parseJson`, for a body that is probably an event. An event is not parsed: what is recorded are the bytes that were
 * sent, without white space. Only what can be no event is parsed, to say why. Either way members of events that are null
 * are left out.
 */
export function parseEvent(bytes: Buffer): JsonDocument {
  shape ??= verbatimShape(AuditEventDto);
  events ??= new VerbatimJson(shape, LIMITS.depth, (json) => parseJson(json).value);
  const verbatim = events.read(bytes) ?? readCompacted(events, bytes);
  if (!verbatim) {
    const parsed = parseJson(bytes);
    leaveOutNulls(parsed.value, shape);
    return parsed;
  }
  return { value: verbatim.value, exact: false, depth: verbatim.depth, verbatim };
}

function leaveOutNulls(value: unknown, members: VerbatimShape): void {
  if (!isObject(value)) return;
  for (const [name, type] of Object.entries(members)) {
    if (value[name] === null) delete (value as Record<string, unknown>)[name];
    else if (typeof type === 'object') leaveOutNulls(value[name], type);
  }
}

function readCompacted(reader: VerbatimJson, bytes: Buffer): Verbatim | undefined {
  const compact = compacted(bytes);
  return compact && reader.read(compact);
}
