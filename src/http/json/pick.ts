import { ControlError } from '../../contract/errors.js';
import { COLON, COMMA, END, JsonTokens, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../../contract/json-tokens.js';
import { LIMITS } from '../../contract/limits.js';
import { STEP_BYTES, type Steps } from '../../platform/turns.js';
import { parseJson } from './parse.js';

/** How many members are looked at in one step. */
const STEP_MEMBERS = 1_000;

/** The names and indices of a JSON pointer (RFC 6901). */
type Path = readonly string[];

/**
 * What is at these paths in a long JSON text, in objects of its own: texts, numbers and literals, and an empty object for an
 * array or object. The rest is not parsed, and need not be JSON.
 */
export function* pick(json: Buffer, paths: readonly Path[]): Steps<unknown> {
  const tokens = new JsonTokens(json);
  tokens.next();
  return yield* valueIn(tokens, paths);
}

/** The value that begins with the current token. */
function* valueIn(tokens: JsonTokens, paths: readonly Path[]): Steps<unknown> {
  const { json, start, depth } = tokens;
  const isArray = json[start] === OPEN_ARRAY;
  if (!isArray && json[start] !== OPEN_OBJECT) return scalar(json.subarray(start, tokens.end));
  // Without a prototype even `__proto__` is a name like others.
  const found: Record<string, unknown> = Object.create(null);
  for (let index = 0; ; index += 1) {
    const token = tokens.next();
    if (token === END || tokens.depth < depth) return found;
    const name = isArray ? String(index) : scalar(json.subarray(tokens.start, tokens.end));
    if (!isArray && (token !== QUOTE || tokens.next() !== COLON || tokens.next() === END)) return found;
    const below = paths.flatMap(([first, ...rest]) => (first === name ? [rest] : []));
    if (below.length > 0) found[String(name)] = yield* valueIn(tokens, below);
    else yield* skipValue(tokens);
    if (tokens.next() !== COMMA) return found;
    if (index % STEP_MEMBERS === STEP_MEMBERS - 1) yield;
  }
}

/** As `JsonTokens.skipValue`, in steps. */
export function* skipValue(tokens: JsonTokens): Steps<void> {
  const { json, start, depth } = tokens;
  if (json[start] !== OPEN_OBJECT && json[start] !== OPEN_ARRAY) return;
  for (let pause = start + STEP_BYTES; tokens.depth >= depth && tokens.next() !== END; ) {
    if (tokens.end < pause) continue;
    yield;
    pause = tokens.end + STEP_BYTES;
  }
}

/** Undefined for one that is not sound, or longer than an event. */
function scalar(text: Buffer): unknown {
  if (text.length > LIMITS.bodyBytes) return undefined;
  try {
    return parseJson(text).value;
  } catch (error) {
    if (error instanceof ControlError) return undefined;
    throw error;
  }
}
