import { BackgroundConnect } from '../../src/platform/background-connect.js';
import { StoreUnusable } from '../../src/platform/store-unusable.js';
import { settled } from '../contract/harness.js';

class Store {
  closed = 0;
  async close(): Promise<void> {
    this.closed += 1;
  }
}

const unreachable = () => Promise.reject(new Error('connection refused'));
const never = new AbortController().signal;

describe('a store that may not be reachable yet', () => {
  test('is retried until it is open, and reports until then what is missing', async () => {
    const store = new Store();
    let tries = 0;
    const late = new BackgroundConnect('Kafka', () => {
      tries += 1;
      return tries === 1 ? unreachable() : Promise.resolve(store);
    });
    await new Promise((resolve) => setImmediate(resolve));
    const before = [late.missing, late.store];

    expect(await late.opened).toBe(store);
    expect(before).toEqual(['Kafka cannot be reached: connection refused', undefined]);
    expect([late.missing, late.store]).toEqual([undefined, store]);
  });

  test('is not waited for when it can be reached and cannot be used', async () => {
    const fault = new StoreUnusable('the topics are not as they must be');
    const late = new BackgroundConnect('Kafka', () => Promise.reject(fault));

    expect(await settled(late.opened)).toEqual({ error: fault });
    expect(await settled(late.before(never))).toEqual({ error: fault });
  });

  test('is given up by those who wait for it when their signal aborts, and when it is closed', async () => {
    const late = new BackgroundConnect<Store>('Kafka', unreachable);
    const leaving = new AbortController();
    const waiting = [late.before(leaving.signal), late.before(never)];
    leaving.abort();
    expect(await waiting[0]).toBeUndefined();
    expect(await late.before(leaving.signal)).toBeUndefined();

    await late.close();
    expect(await waiting[1]).toBeUndefined();
    expect(await settled(late.opened)).toHaveProperty('error');
  });

  test('is closed once, also when it opens while it is being closed', async () => {
    const store = new Store();
    const opens = Promise.withResolvers<Store>();
    const late = new BackgroundConnect('Kafka', () => opens.promise);
    const closing = late.close();
    opens.resolve(store);
    await closing;

    expect(store.closed).toBe(1);
  });
});
