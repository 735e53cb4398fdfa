/** Work that can stop between any two of its steps, each of which takes a millisecond or two at most. */
export type Steps<Result> = Generator<void, Result>;

/** The result of the work, made without a stop. */
export function finished<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
