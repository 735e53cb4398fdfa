/**
 * Runs the work for all who ask for it before it begins, one run at a time: who asks while it runs shares the next run.
 */
export function coalesced<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined;
  let next: Promise<Result> | undefined;
  const start = (): Promise<Result> => {
    next = undefined;
    const run = work().finally(() => {
      if (running === run) running = undefined;
    });
    running = run;
    return run;
  };
  return () => {
    if (!running) return start();
    next ??= running.then(start, start);
    return next;
  };
}
