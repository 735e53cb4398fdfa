import { LIMITS } from '../../contract/limits.js';
import { VerbatimJson } from '../../platform/verbatim-json.js';
import { AuditEventDto } from '../../shapes/audit-event.js';
import { verbatimShape } from '../../shapes/compiled.js';
import { type JsonDocument, parseJson } from './parse.js';

let events: VerbatimJson | undefined;

/** As `parseJson`, for a body that is probably an event: most are written so that they need not be parsed. */
export function parseEvent(bytes: Buffer, maxDepth: number = LIMITS.depth): JsonDocument {
  events ??= new VerbatimJson(verbatimShape(AuditEventDto), LIMITS.depth);
  const verbatim = events.read(bytes);
  if (!verbatim) return parseJson(bytes, maxDepth);
  return { value: verbatim.value, exact: false, depth: verbatim.depth, verbatim };
}
