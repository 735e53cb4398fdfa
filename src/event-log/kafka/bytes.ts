/** Reads Kafka's protocol: big-endian integers, zigzag varints, strings and lists of several kinds. */
export class Bytes {
  constructor(
    private readonly buffer: Buffer,
    private at = 0,
  ) {}

  get position(): number {
    return this.at;
  }

  /** Skips these bytes if they come next; otherwise skips nothing and returns false. */
  skips(bytes: Uint8Array): boolean {
    for (let index = 0; index < bytes.length; index += 1) {
      if (this.buffer[this.at + index] !== bytes[index]) return false;
    }
    this.at += bytes.length;
    return true;
  }

  take(length: number): Buffer {
    const start = this.advance(length);
    return this.buffer.subarray(start, this.at);
  }

  skip(length: number): this {
    this.advance(length);
    return this;
  }

  /** Returns the position before. */
  private advance(length: number): number {
    const left = this.buffer.length - this.at;
    if (length < 0 || length > left) throw new RangeError(`${length} bytes are wanted, ${left} are left`);
    this.at += length;
    return this.at - length;
  }

  int16(): number {
    return this.buffer.readInt16BE(this.advance(2));
  }

  int32(): number {
    return this.buffer.readInt32BE(this.advance(4));
  }

  uint32(): number {
    return this.buffer.readUInt32BE(this.advance(4));
  }

  /** Exact below 2^53, as offsets and times are. */
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

  /** Undefined for Kafka's null, here and below. */
  compactString(): string | undefined {
    const length = this.unsignedVarint();
    return length === 0 ? undefined : this.take(length - 1).toString();
  }

  varintBytes(): Buffer | undefined {
    const length = this.varint();
    return length < 0 ? undefined : this.take(length);
  }

  /** Faster than `varintBytes` for many short texts. */
  varintText(): string | undefined {
    const length = this.varint();
    if (length < 0) return undefined;
    const start = this.advance(length);
    return this.buffer.toString('utf8', start, this.at);
  }

  list<Item>(item: () => Item): Item[] {
    return Array.from({ length: Math.max(0, this.int32()) }, item);
  }

  compactList<Item>(item: () => Item): Item[] {
    return Array.from({ length: Math.max(0, this.unsignedVarint() - 1) }, item);
  }

  /** Skips the fields of later versions. */
  tags(): void {
    for (let count = this.unsignedVarint(); count > 0; count -= 1) {
      this.unsignedVarint();
      this.skip(this.unsignedVarint());
    }
  }
}

/** Writes it into one buffer, whose size must do for all that comes. */
export class Writer {
  at = 0;

  readonly bytes: Buffer;

  constructor(size: number) {
    this.bytes = Buffer.allocUnsafe(size);
  }

  /** Big-endian, of 1, 2, 4 or 8 bytes. */
  int(size: number, value: number): this {
    if (size === 8) this.at = this.bytes.writeBigInt64BE(BigInt(value), this.at);
    else this.at = this.bytes.writeIntBE(value, this.at, size);
    return this;
  }

  unsignedVarint(value: number): this {
    let rest = value;
    for (; rest >= 0x80; rest >>>= 7) this.bytes[this.at++] = (rest & 0x7f) | 0x80;
    this.bytes[this.at++] = rest;
    return this;
  }

  /** Zigzag, of a number from 0 to 2^30. */
  varint(value: number): this {
    return this.unsignedVarint(value * 2);
  }

  text(text: string): this {
    this.at += this.bytes.write(text, this.at);
    return this;
  }

  /** With its length in two bytes. */
  string(text: string): this {
    return this.int(2, Buffer.byteLength(text)).text(text);
  }

  /** With its length as a varint. */
  sizedText(text: string): this {
    return this.varint(Buffer.byteLength(text)).text(text);
  }

  copy(bytes: Uint8Array): this {
    this.bytes.set(bytes, this.at);
    this.at += bytes.length;
    return this;
  }

  /** What was written. */
  get written(): Buffer {
    return this.bytes.subarray(0, this.at);
  }
}
