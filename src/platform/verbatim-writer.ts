/** An object that was read from JSON. */
export interface ReadObject {
  readonly value: Record<string, unknown>;
  /** In the order in which they stand. */
  readonly keys: readonly string[];
  /** Where the member of each key begins, and the place behind the comma or brace after the last. */
  readonly marks: readonly number[];
  /** The objects in it whose members are known. */
  readonly inner: readonly ReadObject[];
}

/** The JSON of `changed`, with the members that are those of `read` copied from its bytes. */
export function writtenWith(json: Buffer, read: ReadObject, changed: object): Buffer {
  const pieces = new Pieces(json);
  writeObject(pieces, read, changed as Record<string, unknown>);
  return pieces.joined();
}

function writeObject(
  pieces: Pieces,
  { value, keys, marks, inner }: ReadObject,
  changed: Record<string, unknown>,
): void {
  let separator = '{';
  for (const key of Object.keys(changed)) {
    const member = changed[key];
    if (member === undefined) continue;
    pieces.write(separator);
    separator = ',';
    const before = value[key];
    if (member === before) {
      const at = keys.indexOf(key);
      pieces.copy(marks[at] as number, (marks[at + 1] as number) - 1);
      continue;
    }
    pieces.write(`${JSON.stringify(key)}:`);
    const read = before === undefined ? undefined : inner.find((one) => one.value === before);
    if (read && typeof member === 'object') writeObject(pieces, read, member as Record<string, unknown>);
    else pieces.write(JSON.stringify(member));
  }
  pieces.write(separator === '{' ? '{}' : '}');
}

/** Texts, and bytes that were sent, in turn. */
class Pieces {
  private readonly texts: string[] = [];
  /** Where the bytes behind each text begin and end. */
  private readonly spans: number[] = [];
  private text = '';
  private size = 0;

  constructor(private readonly json: Buffer) {}

  write(text: string): void {
    this.text += text;
  }

  copy(start: number, end: number): void {
    const { spans } = this;
    const last = spans.length - 1;
    this.size += end - start;
    if (this.text === ',' && spans[last] === start - 1) {
      // Members that follow each other are copied with the comma between them.
      spans[last] = end;
      this.size += 1;
    } else {
      this.texts.push(this.text);
      this.size += Buffer.byteLength(this.text);
      spans.push(start, end);
    }
    this.text = '';
  }

  joined(): Buffer {
    const { texts, spans, json } = this;
    const whole = Buffer.allocUnsafe(this.size + Buffer.byteLength(this.text));
    let at = 0;
    for (const [index, text] of texts.entries()) {
      at += whole.write(text, at);
      at += json.copy(whole, at, spans[2 * index], spans[2 * index + 1]);
    }
    whole.write(this.text, at);
    return whole;
  }
}
