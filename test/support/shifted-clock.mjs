/**
 * Loaded with `--import` before a process of the service: its system's clock is off by `SHIFT_MS`. The monotonic clock is
 * as it was.
 */
const shift = Number(process.env.SHIFT_MS);
const RealDate = Date;

globalThis.Date = class ShiftedDate extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + shift);
    else super(...given);
  }

  static now() {
    return RealDate.now() + shift;
  }
};
