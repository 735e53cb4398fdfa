import type { FastifyInstance } from 'fastify';

/**
 * Counts the requests whose responses are not sent completely. A closing server drops idle connections even while a
 * response is still being sent, so it waits for these first.
 */
export class InFlight {
  private count = 0;
  private readonly waiting = new Set<() => void>();

  constructor(server: FastifyInstance) {
    server.addHook('onRequest', (_request, reply, done) => {
      this.count += 1;
      // Comes once: after the last byte, or when the connection is cut. `onResponse` would miss that.
      reply.raw.on('close', () => {
        this.count -= 1;
        if (this.count === 0) for (const resolve of this.waiting) resolve();
      });
      done();
    });
  }

  /** Resolves when nothing is in flight, or the time is over. */
  drained(timeoutMs: number): Promise<void> {
    if (this.count === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.waiting.delete(end);
        resolve();
      };
      const timer = setTimeout(end, timeoutMs);
      this.waiting.add(end);
    });
  }
}
