import { COMMA } from '../contract/json-tokens.js';

/** Members to be left out of JSON without white space, noted in the order in which they stand. */
export class LeftOut {
  /** Begin and end of each piece. */
  private readonly cuts: number[] = [];

  get hasAny(): boolean {
    return this.cuts.length > 0;
  }

  clear(): void {
    this.cuts.length = 0;
  }

  /** Adds the member at these bytes, with one of the commas around it. */
  add(json: Buffer, start: number, end: number): void {
    const { cuts } = this;
    if (json[end] === COMMA) {
      cuts.push(start, end + 1);
      return;
    }
    // The last of its object: the comma to leave out stands before those that are left out right before it.
    let from = start;
    while (cuts.at(-1) === from) {
      cuts.pop();
      from = cuts.pop() as number;
    }
    cuts.push(json[from - 1] === COMMA ? from - 1 : from, end);
  }

  /** The JSON without them. */
  of(json: Buffer): Buffer {
    const kept: Buffer[] = [];
    let at = 0;
    for (let index = 0; index < this.cuts.length; index += 2) {
      kept.push(json.subarray(at, this.cuts[index]));
      at = this.cuts[index + 1] as number;
    }
    return Buffer.concat([...kept, json.subarray(at)]);
  }
}
