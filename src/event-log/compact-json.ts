import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  endOfPlain,
  endOfScalar,
  endOfString,
  memberAt,
  NONE,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../contract/json-tokens.js';

const MOST_NESTED = 100;

/** One that is looked at: a text, or an object with such members. */
interface Member {
  readonly name: Uint8Array;
  readonly slot: number;
  readonly members?: Member[];
}

/**
 * Finds some texts in objects of JSON, and makes nothing of all the rest: little more than half the CPU of `JSON.parse`,
 * and little to collect. It knows only what `JSON.stringify` writes, without white space, and of that only where the texts
 * and their names are free of escapes, stand there once and are nested as expected. It looks at every byte: what it does
 * not accept may be JSON all the same, but what it accepts is.
 */
export class CompactJson {
  private readonly members: Member[] = [];
  private readonly spans: Int32Array;

  /** Paths are of names joined by a dot, as in `context.org`. */
  constructor(private readonly paths: readonly string[]) {
    let slots = paths.length;
    for (const [slot, path] of paths.entries()) {
      const names = path.split('.').map((name) => Buffer.from(name));
      const last = names.pop() ?? Buffer.of();
      let { members } = this;
      for (const name of names) {
        const known = members.find((member) => name.equals(member.name));
        const object = known ?? { name, slot: slots++, members: [] };
        if (!known) members.push(object);
        members = object.members ?? [];
      }
      members.push({ name: last, slot });
    }
    this.spans = new Int32Array(2 * slots);
  }

  /** The texts in the order of their paths, undefined for each that is absent. `json` must be UTF-8. */
  textsIn(json: Buffer): readonly (string | undefined)[] | undefined {
    return this.accepts(json) ? this.paths.map((_, slot) => this.text(json, slot)) : undefined;
  }

  /** Whether this is such an object: then `has` and `text` tell of it, and of no other. `json` must be UTF-8. */
  accepts(json: Buffer): boolean {
    this.spans.fill(NONE);
    return json[0] === OPEN_OBJECT && this.endOfObject(json, 1, this.members) === json.length;
  }

  /** Whether there is a text at the path of this index. */
  has(path: number): boolean {
    return this.spans[2 * path] !== NONE;
  }

  /** The text at the path of this index, undefined if it is absent. */
  text(json: Buffer, path: number): string | undefined {
    return this.has(path) ? json.toString('utf8', this.spans[2 * path], this.spans[2 * path + 1]) : undefined;
  }

  /** Behind its brace; notes where the members stand that are looked at. */
  private endOfObject(json: Buffer, start: number, members: readonly Member[]): number {
    if (json[start] === CLOSE_OBJECT) return start + 1;
    for (let at = start; ; at += 1) {
      const end = endOfPlainText(json, at);
      if (end === NONE || json[end] !== COLON) return NONE;
      const member = memberAt(json, at + 1, end - 1, members);
      at = member ? this.endOfMember(json, end + 1, member) : endOfValue(json, end + 1, 0);
      if (at === NONE || json[at] === CLOSE_OBJECT) return at === NONE ? NONE : at + 1;
      if (json[at] !== COMMA) return NONE;
    }
  }

  private endOfMember(json: Buffer, at: number, { slot, members }: Member): number {
    const { spans } = this;
    if (spans[2 * slot] !== NONE) return NONE;
    spans[2 * slot] = at + 1;
    if (members) return json[at] === OPEN_OBJECT ? this.endOfObject(json, at + 1, members) : NONE;
    const end = endOfPlainText(json, at);
    spans[2 * slot + 1] = end - 1;
    return end;
  }
}

function endOfValue(json: Buffer, at: number, nested: number): number {
  const first = json[at];
  if (first === QUOTE) return endOfString(json, at);
  if (first === OPEN_OBJECT) return endOfAll(json, at + 1, CLOSE_OBJECT, nested + 1);
  if (first === OPEN_ARRAY) return endOfAll(json, at + 1, CLOSE_ARRAY, nested + 1);
  return endOfScalar(json, at);
}

/** Of the members of an object, or the elements of an array. */
function endOfAll(json: Buffer, start: number, closing: number, nested: number): number {
  if (nested > MOST_NESTED) return NONE;
  if (json[start] === closing) return start + 1;
  for (let at = start; ; at += 1) {
    if (closing === CLOSE_OBJECT) {
      at = endOfString(json, at);
      if (at === NONE || json[at] !== COLON) return NONE;
      at += 1;
    }
    at = endOfValue(json, at, nested);
    if (at === NONE || json[at] === closing) return at === NONE ? NONE : at + 1;
    if (json[at] !== COMMA) return NONE;
  }
}

function endOfPlainText(json: Buffer, start: number): number {
  if (json[start] !== QUOTE) return NONE;
  const end = endOfPlain(json, start + 1);
  return json[end] === QUOTE ? end + 1 : NONE;
}
