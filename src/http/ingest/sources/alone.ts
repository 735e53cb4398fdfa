import {
  COLON,
  COMMA,
  END,
  JsonTokens,
  memberAt,
  OPEN_OBJECT,
  QUOTE,
  skipSpace,
} from '../../../contract/json-tokens.js';
import { STEP_BYTES, type Steps } from '../../../platform/turns.js';
import { skipValue } from '../../json/pick.js';

const NEWLINE = 0x0a;

/** Members that a source looks for. */
const SOUGHT = (['kind', 'apiVersion', 'metadata', 'items', 'Records', 'data'] as const).map((sought) => ({
  sought,
  name: Buffer.from(sought),
}));
type Sought = (typeof SOUGHT)[number]['sought'];

/** An object that is the whole body, on however many lines. */
export interface Alone {
  /** The texts of the members that sources look for; of those with the same name the last. */
  readonly members: ReadonlyMap<Sought, Buffer>;
  /** Whether there is more than `members`: others, or the same again. */
  readonly hasMore: boolean;
}

/** Undefined for another body. Whether the object is JSON is for its parser. */
export function* objectAlone(bytes: Buffer): Steps<Alone | undefined> {
  // As for arrays, white space is passed over only so far.
  if (bytes[skipSpace(bytes.subarray(0, STEP_BYTES), 0)] !== OPEN_OBJECT) return undefined;
  const tokens = new JsonTokens(bytes);
  tokens.next();
  const members = new Map<Sought, Buffer>();
  let hasMore = false;
  let name: { readonly start: number; readonly end: number } | undefined;
  let start = 0;
  for (let pause = STEP_BYTES; tokens.depth > 0; ) {
    if (tokens.end >= pause) {
      yield;
      pause = tokens.end + STEP_BYTES;
    }
    const token = tokens.next();
    if (token === END) return undefined;
    if (tokens.depth === 1 && token === QUOTE) name ??= { start: tokens.start + 1, end: tokens.end - 1 };
    else if (tokens.depth === 1 && token === COLON) start = tokens.end;
    else if (name && (tokens.depth === 0 || (tokens.depth === 1 && token === COMMA))) {
      const member = memberAt(bytes, name.start, name.end, SOUGHT);
      hasMore ||= !member || members.has(member.sought);
      if (member) members.set(member.sought, bytes.subarray(start, tokens.start));
      name = undefined;
    }
  }
  return tokens.next() === END ? { members, hasMore } : undefined;
}

/** JSON objects one after the other with or without lines between, none over several lines. Undefined for another body. */
export function* concatenatedObjects(bytes: Buffer): Steps<Buffer[] | undefined> {
  const tokens = new JsonTokens(bytes);
  const objects: Buffer[] = [];
  for (let token = tokens.next(); token !== END; token = tokens.next()) {
    if (token !== OPEN_OBJECT) return undefined;
    const { start } = tokens;
    yield* skipValue(tokens);
    const object = bytes.subarray(start, tokens.end);
    if (tokens.depth !== 0 || object.includes(NEWLINE)) return undefined;
    objects.push(object);
    yield;
  }
  return objects;
}
