/** Reads what Kafka writes: big-endian integers, zigzag varints, and its three kinds of strings. */
export class Bytes {
  constructor(
    private readonly buffer: Buffer,
    private at = 0,
  ) {}

  get position(): number {
    return this.at;
  }

  get left(): number {
    return this.buffer.length - this.at;
  }

  /** Passes bytes that are the same as these; otherwise passes nothing, and answers false. */
  passed(bytes: Uint8Array): boolean {
    for (let index = 0; index < bytes.length; index += 1) {
      if (this.buffer[this.at + index] !== bytes[index]) return false;
    }
    this.at += bytes.length;
    return true;
  }

  take(length: number): Buffer {
    const start = this.pass(length);
    return this.buffer.subarray(start, this.at);
  }

  skip(length: number): this {
    this.pass(length);
    return this;
  }

  /** Where the bytes begin that are passed. */
  private pass(length: number): number {
    if (length < 0 || length > this.left) throw new RangeError(`${length} bytes are wanted, ${this.left} are left`);
    this.at += length;
    return this.at - length;
  }

  int8(): number {
    return this.buffer.readInt8(this.pass(1));
  }

  int16(): number {
    return this.buffer.readInt16BE(this.pass(2));
  }

  int32(): number {
    return this.buffer.readInt32BE(this.pass(4));
  }

  uint32(): number {
    return this.buffer.readUInt32BE(this.pass(4));
  }

  /** Exact up to 2^53: offsets and times do not reach it. */
  int64(): number {
    return this.int32() * 2 ** 32 + this.uint32();
  }

  unsignedVarint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.buffer[this.at];
      if (byte === undefined) throw new RangeError('a number is cut off');
      this.at += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  varint(): number {
    const value = this.unsignedVarint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** Undefined stands for Kafka's null. */
  string(): string | undefined {
    const length = this.int16();
    return length < 0 ? undefined : this.take(length).toString();
  }

  compactString(): string | undefined {
    const length = this.unsignedVarint();
    return length === 0 ? undefined : this.take(length - 1).toString();
  }

  varintBytes(): Buffer | undefined {
    const length = this.varint();
    return length < 0 ? undefined : this.take(length);
  }

  /** Like `varintBytes`, without a buffer of its own for each of many short texts. */
  varintText(): string | undefined {
    const length = this.varint();
    if (length < 0) return undefined;
    const start = this.pass(length);
    return this.buffer.toString('utf8', start, this.at);
  }

  list<Item>(item: () => Item): Item[] {
    return Array.from({ length: Math.max(0, this.int32()) }, item);
  }

  compactList<Item>(item: () => Item): Item[] {
    return Array.from({ length: Math.max(0, this.unsignedVarint() - 1) }, item);
  }

  /** Fields of later versions, which are passed over. */
  tags(): void {
    for (let count = this.unsignedVarint(); count > 0; count -= 1) {
      this.unsignedVarint();
      this.skip(this.unsignedVarint());
    }
  }
}
