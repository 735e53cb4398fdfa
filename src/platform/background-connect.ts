import { untilDone } from './retry.js';
import { StoreUnusable } from './store-unusable.js';

const PATIENCE = { first: 1_000, most: 1_000 };

/**
 * A store that may not be reachable yet: opened in the background, again and again until it is. One that can be reached
 * and cannot be used is not waited for: `opened` rejects with `StoreUnusable`.
 */
export class BackgroundConnect<Store extends { close(): Promise<void> }> {
  readonly opened: Promise<Store>;
  private current: Store | undefined;
  private reason = 'not tried yet';
  private readonly stop = new AbortController();

  constructor(
    private readonly name: string,
    open: () => Promise<Store>,
  ) {
    this.opened = this.keepOpening(open);
    this.opened.catch(() => undefined);
  }

  private async keepOpening(open: () => Promise<Store>): Promise<Store> {
    const { signal } = this.stop;
    const failed = (error: unknown) => {
      if (error instanceof StoreUnusable) throw error;
      this.reason = (error as Error).message;
    };
    this.current = await untilDone(signal, open, failed, PATIENCE);
    if (!this.current) throw signal.reason;
    return this.current;
  }

  /** Undefined until it is open. */
  get store(): Store | undefined {
    return this.current;
  }

  /** Why the store cannot be used at the moment; undefined when it can. */
  get missing(): string | undefined {
    return this.store ? undefined : `${this.name} cannot be reached: ${this.reason}`;
  }

  /** The store once it is open; undefined when the signal aborts or `close` is called before. Rejects as `opened` does. */
  before(signal: AbortSignal): Promise<Store | undefined> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return resolve(undefined);
      signal.addEventListener('abort', () => resolve(undefined), { once: true });
      this.opened.then(resolve, (error) => (this.stop.signal.aborted ? resolve(undefined) : reject(error)));
    });
  }

  /** Gives up opening, or closes what is open. */
  async close(): Promise<void> {
    this.stop.abort();
    await this.opened.catch(() => undefined);
    await this.store?.close();
  }
}
