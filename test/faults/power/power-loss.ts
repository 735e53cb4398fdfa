import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { restoreLog } from '../../../src/event-log/embedded/restore.js';
import { PATIENCE } from '../../support/patience.js';
import { randomOf, SEED } from '../../support/random.js';
import { hasVolatileDisk } from '../../support/volatile-disk/disk.js';
import { Client } from '../client.js';
import { builtMain } from '../process.js';
import { PoweredService } from './powered-service.js';
import { Rounds } from './rounds.js';

/**
 * Takes the power from the service at random moments: what was not synced is lost, or survives in part, and the service
 * starts again on what is left. It is held to everything that it acknowledged.
 *
 *     npm run test:faults -- power-loss       FAULTS_ROUNDS (200), SEED (1), CONTROL_TEST_MAIN (dist/main.js)
 *
 * The seed repeats the choices, not the moments at which the machine carries them out.
 */
const ROUNDS = Number(process.env.FAULTS_ROUNDS || 200);
const MINUTES = 60_000 * PATIENCE;
/** A service that does not sync is found out within so many rounds. */
const MUTANT_ROUNDS = 12;

/** Of its changes and fsyncs; later ones are done by then. */
const STEPS_OF_FIRST_START = 120;

const suite = hasVolatileDisk() ? describe : describe.skip;

suite(`power loss, seed ${SEED}`, () => {
  describe('the service', () => {
    const rounds = new Rounds(builtMain());
    const { world, service, counts } = rounds;
    const began = Date.now();
    const expectNoFaults = () => {
      if (world.faults.length === 0) return;
      const shown = world.faults.slice(0, 10).join('\n  ');
      throw new Error(`${world.faults.length} faults after ${counts.rounds} rounds, seed ${SEED}:\n  ${shown}`);
    };

    afterAll(async () => {
      const { acknowledged, retries, conflicts, unanswered, recordedUnanswered } = world.counts;
      const moments = [...rounds.moments].map(([name, count]) => `  ${count} at ${name}`).sort();
      process.stdout.write(
        `power loss: ${counts.rounds} of ${ROUNDS} rounds, seed ${SEED}, ${Math.round((Date.now() - began) / 1000)} s; ` +
          `${acknowledged} events, ${rounds.changes} changes of groups and ${world.orgs.size} organizations acknowledged, ` +
          `${retries} repetitions, ${conflicts} conflicts, ${unanswered} requests without an acknowledgement ` +
          `(${recordedUnanswered} of their events recorded); of ${counts.pages} pages that were not synced ` +
          `${counts.survived} survived, ${counts.torn} of them torn, and ${counts.namesKept} of ${counts.names} changes ` +
          `of names; ${counts.compared} documents compared; the power failed\n${moments.join('\n')}\n`,
      );
      if (world.faults.length === 0) await rounds.remove();
      else await service.powerOff();
    });

    test(
      'loses, changes and doubles nothing that it acknowledged, in any round',
      async () => {
        await rounds.begin();
        while (counts.rounds < ROUNDS) {
          await rounds.round().catch((error: Error) => {
            world.faults.push(`round ${counts.rounds + 1}: ${error.message}`);
          });
          expectNoFaults();
        }
      },
      ROUNDS * 30_000 + 2 * MINUTES,
    );

    test(
      'has everything once, in the order in which it was seen',
      async () => {
        await rounds.checkAll();
        expectNoFaults();
        expect(world.counts.acknowledged).toBeGreaterThan(ROUNDS);
        expect(rounds.changes).toBeGreaterThan(0);
      },
      5 * MINUTES,
    );

    test('has a log whose backup holds every record undamaged', async () => {
      const from = join(service.folder, 'backup');
      writeFileSync(from, await rounds.backup());
      // Checks every record.
      const { heads } = await restoreLog({ from, dataDir: join(service.folder, 'restored'), force: false });
      expect(heads['audit/0']).toBeGreaterThanOrEqual(world.counts.acknowledged);
    });
  });

  test(
    'keeps what a first start acknowledged, whatever is left of a start before',
    async () => {
      const random = randomOf(SEED);
      for (let seed = SEED; seed < SEED + Math.max(3, ROUNDS / 10); seed += 1) {
        const service = new PoweredService(builtMain());
        await service.cutStart({ match: '.', steps: random.whole(1, STEPS_OF_FIRST_START), seed });
        await service.powerOn();
        const org = await new Client(await service.start(), service.rootKey()).org('acme');
        await service.disk.cut(seed);
        await service.powerOff();
        await service.powerOn();
        const after = new Client(await service.start(), org.key);
        expect([seed, (await after.get('/org/acme')).status]).toEqual([seed, 200]);
        await service.remove();
      }
    },
    ROUNDS * 3_000 + 2 * MINUTES,
  );

  test.each([
    ['never syncs', 'never', /acknowledged|altered|damaged|missing/],
    ['syncs after it has acknowledged', 'late', /acknowledged|altered|missing/],
  ])(
    'finds out a log that %s',
    async (_name, sync, fault) => {
      const preload = pathToFileURL(join(import.meta.dirname, 'unsynced-log.mjs')).href;
      const env = { NODE_OPTIONS: `--import ${preload}`, TEST_LOG_SYNC: sync };
      const rounds = new Rounds(builtMain(), env);
      const { world, counts } = rounds;
      try {
        await rounds.begin();
        while (counts.rounds < MUTANT_ROUNDS && world.faults.length === 0) await rounds.round();
      } catch (error) {
        world.faults.push((error as Error).message);
      } finally {
        await rounds.remove();
      }
      process.stdout.write(`a log that syncs ${sync}: after ${counts.rounds} rounds ${world.faults[0]}\n`);
      expect(world.faults.join('\n')).toMatch(fault);
    },
    5 * MINUTES,
  );
});
