import { Live } from '../support/live.js';

/** What is done to see that a promise is kept. */
export type Checks = Readonly<Record<string, (live: Live) => Promise<unknown>>>;

/** Runs the check of every promise on one service; a promise without a check fails, a check without a promise, too. */
export function verify(promises: readonly string[], checks: Checks): void {
  let live: Live;
  beforeAll(async () => {
    live = await Live.start();
  });
  afterAll(() => live.remove());

  it('has a check for each promise, and none for what is not promised', () => {
    expect(Object.keys(checks).sort()).toEqual([...promises].sort());
  });

  it.each(promises.filter((promise) => checks[promise]))('%s', (promise) => checks[promise]?.(live));
}
