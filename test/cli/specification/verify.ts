import { Live } from '../support/live.js';
import { svcOnTerminal, withTerminal } from '../support/terminal.js';
import type { Kind } from './made.js';
import { columnsIn } from './table.js';

/** What is done to see that a promise is kept. */
export type Checks = Readonly<Record<string, (live: Live) => Promise<unknown>>>;

/** Runs the check of every promise on one service; a promise without a check fails, a check without a promise, too. */
export function verify(kind: Kind, promises: readonly string[], checks: Checks): void {
  let live: Live;
  beforeAll(async () => {
    live = await Live.start();
  });
  afterAll(() => live.remove());

  it('has a check for each promise, and no other', () => {
    expect(Object.keys(checks).sort()).toEqual([...promises].sort());
  });

  it.each(promises.filter((promise) => checks[promise]))('%s', (promise) => checks[promise]?.(live));

  withTerminal('the columns have their names above them on a terminal, in their order', async () => {
    const [header = ''] = (await svcOnTerminal(`${kind} get`, { ...live.env, NO_COLOR: '1' })).split('\n');
    expect(header.trimEnd().toLowerCase().split(/ {2,}/)).toEqual(columnsIn(promises));
  });
}
