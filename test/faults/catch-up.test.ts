import { DatabaseSync } from 'node:sqlite';
import { startService } from '../support/service.js';
import { Client } from './client.js';
import { eventOf, removeReadModel } from './data-folder.js';

const BULKS = 4;
const BULK_EVENTS = 1_000;

/** A log of millions takes minutes to index: until then the process must answer who asks whether it lives. */
test('making the read model anew leaves the process its turns between the batches', async () => {
  const first = await startService();
  const acme = await new Client(first.url, first.rootKey).org('acme');
  for (let n = 0; n < BULKS; n += 1) {
    const events = Array.from({ length: BULK_EVENTS }, (_, at) => eventOf(`${n}-${at}`, 100));
    await acme.post('/audit/org/acme/auditctx/app/-bulk?async=true', events);
  }
  await first.stop();
  removeReadModel({ readModel: `${first.dataDir}/read-model.db` });

  const batches = countBatches();
  const again = await startService({ dataDir: first.dataDir });
  const counted = batches.end();
  await again.remove();

  expect(counted.total).toBeGreaterThan(BULKS);
  // One each of the two projections, and one for chance.
  expect(counted.mostInOneTurn).toBeLessThanOrEqual(3);
});

/** How many batches the read model writes in all, and before anything else has a turn. */
function countBatches(): { end(): { total: number; mostInOneTurn: number } } {
  const exec = DatabaseSync.prototype.exec;
  let [total, inTurn, mostInOneTurn] = [0, 0, 0];
  DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string): void {
    exec.call(this, sql);
    if (sql !== 'RELEASE batch' || !this.location()?.endsWith('read-model.db')) return;
    total += 1;
    inTurn += 1;
    mostInOneTurn = Math.max(mostInOneTurn, inTurn);
  };
  const turn = () => {
    inTurn = 0;
    ticker = setImmediate(turn);
  };
  let ticker = setImmediate(turn);
  return {
    end() {
      clearImmediate(ticker);
      DatabaseSync.prototype.exec = exec;
      return { total, mostInOneTurn };
    },
  };
}
