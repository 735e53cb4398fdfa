/**
 * Runs all works at once. Resolves when every one has ended; where one fails, rejects with its error, the first one's. Each
 * is given a signal that aborts with `signal`, and when any of the works has ended: then the others are to end too.
 */
export async function together(
  signal: AbortSignal,
  works: readonly ((signal: AbortSignal) => Promise<void>)[],
): Promise<void> {
  const ended = new AbortController();
  const either = AbortSignal.any([signal, ended.signal]);
  const failures: unknown[] = [];
  const run = async (work: (signal: AbortSignal) => Promise<void>) => {
    try {
      await work(either);
    } catch (error) {
      failures.push(error);
    }
    ended.abort();
  };
  await Promise.all(works.map(run));
  if (failures.length > 0) throw failures[0];
}
