import { ApiError, ClientError, Interrupted } from '../../client/errors.js';
import { EXIT, exitCodeOf, hintsOf, UsageError } from '../output/failures.js';
import type { Terminal } from '../terminal.js';

/**
 * Does the work for each of the references, whatever becomes of the others, and reports each failure. The result is the
 * exit code: `denied` if every failure was one of authorization. An interruption or a usage error ends it at once.
 */
export async function tryAll(
  terminal: Terminal,
  refs: readonly string[],
  work: (ref: string) => Promise<void>,
): Promise<number> {
  const codes = new Set<number>();
  for (const ref of refs) {
    try {
      await work(ref);
    } catch (error) {
      if (!(error instanceof ClientError) || error instanceof Interrupted || error instanceof UsageError) throw error;
      const named = refs.length > 1 || error instanceof ApiError;
      terminal.error(named ? `${ref}: ${error.message}` : error.message, hintsOf(error));
      codes.add(exitCodeOf(error));
    }
  }
  if (codes.size === 0) return EXIT.ok;
  return codes.size === 1 && codes.has(EXIT.denied) ? EXIT.denied : EXIT.failure;
}
