import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { PATIENCE } from '../support/patience.js';
import { type Random, randomOf, SEED } from '../support/random.js';
import { Client } from './client.js';
import { Load, makeOrg } from './load.js';
import { soundHeads } from './log-answers.js';
import { builtMain, type ServiceProcess, spawnService } from './process.js';
import { Promises } from './promises.js';
import { World } from './world.js';

/**
 * Kills the service with SIGKILL at random moments, under load and while it starts, and holds it to everything that it
 * acknowledged. One data folder for all rounds, so that a fault of one round may show in any later one.
 *
 *     npm run test:faults                     FAULTS_ROUNDS (50), FAULTS_SEED (1), CONTROL_TEST_MAIN (dist/main.js)
 *
 * The seed repeats the choices, not the moments at which the machine carries them out.
 */
const ROUNDS = Number(process.env.FAULTS_ROUNDS || 50);
const LONGEST_LOAD_MS = 350;
const MINUTES = 60_000 * PATIENCE;

describe(`kill -9, seed ${SEED}`, () => {
  const main = builtMain();
  const dataDir = mkdtempSync(join(tmpdir(), 'control-kill-'));
  const world = new World();
  const promises = new Promises(world);
  const began = Date.now();
  let running: ServiceProcess | undefined;
  let startMs = 1_000;
  let rounds = 0;

  const start = async (): Promise<string> => {
    const from = Date.now();
    running = spawnService(main, dataDir);
    const url = await running.listening;
    startMs = Date.now() - from;
    return url;
  };
  const rootKey = () => readFileSync(join(dataDir, 'root.key'), 'utf8').trim();
  const kill = async () => {
    const exit = await running?.end('SIGKILL');
    running = undefined;
    // Anything else would mean that it had ended by itself.
    if (exit && exit.signal !== 'SIGKILL') throw new Error(`the service ended with ${exit.code}: ${exit.stderr}`);
  };
  const removeReadModel = () => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(dataDir, `read-model.db${suffix}`), { force: true });
  };
  /** A start that gets nowhere: in half of the cases one that has the whole read model to make. */
  const killedStart = async (random: Random) => {
    if (random.chance(0.5)) removeReadModel();
    running = spawnService(main, dataDir);
    await delay(startMs * (0.2 + random()));
    await kill();
    world.counts.startKills += 1;
  };
  const expectNoFaults = () => {
    if (world.faults.length === 0) return;
    const shown = world.faults.slice(0, 10).join('\n  ');
    throw new Error(`${world.faults.length} faults after ${rounds} rounds, seed ${SEED}, ${dataDir}:\n  ${shown}`);
  };

  afterAll(async () => {
    await running?.end('SIGKILL');
    const { counts } = world;
    const seconds = Math.round((Date.now() - began) / 1000);
    process.stdout.write(
      `kill -9: ${rounds} of ${ROUNDS} rounds, seed ${SEED}, ${seconds} s; ${counts.acknowledged} events and ` +
        `${world.orgs.size} organizations acknowledged, ${counts.retries} repetitions, ${counts.conflicts} conflicts, ` +
        `${counts.unanswered} requests unanswered (${counts.recordedUnanswered} of their events recorded), ` +
        `${counts.startKills} starts killed\n`,
    );
    if (world.faults.length === 0) rmSync(dataDir, { recursive: true, force: true });
  });

  test(
    'nothing acknowledged is lost, changed or doubled in any round',
    async () => {
      await killedStart(randomOf(SEED));
      let url = await start();
      world.takeOrg({ name: 'first' }, await makeOrg(new Client(url, rootKey()), { name: 'first' }));
      for (let round = 1; round <= ROUNDS; round += 1) {
        const random = randomOf(SEED * 100_003 + round);
        const load = new Load(world, url, rootKey(), round, random);
        const loading = load.run();
        await delay(random.whole(10, LONGEST_LOAD_MS));
        load.end();
        await kill();
        await loading;
        if (random.chance(0.3)) await killedStart(random);
        // Then everything that follows rests on it that nothing is served before it is all made again.
        if (random.chance(0.15)) removeReadModel();
        url = await start();
        await promises.checkNewest(url, round);
        await promises.retryLost(url, rootKey(), round);
        await promises.checkRound(url, round);
        expectNoFaults();
        rounds = round;
      }
    },
    ROUNDS * 20_000 + MINUTES,
  );

  test(
    'the log as a whole has everything once, in the order in which it was seen',
    async () => {
      await kill();
      const url = await start();
      await promises.checkAll(url);
      expectNoFaults();
      expect(world.counts.acknowledged).toBeGreaterThan(ROUNDS * 10);
    },
    5 * MINUTES,
  );

  test(
    'a read model made anew answers the same, byte for byte',
    async () => {
      const before = await promises.digest(running ? await running.listening : await start());
      await kill();
      removeReadModel();

      expect(await promises.digest(await start())).toBe(before);
    },
    5 * MINUTES,
  );

  test('the log file is sound', async () => {
    await kill();
    const db = new DatabaseSync(join(dataDir, 'log.db'));
    expect(db.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
    db.close();
    await soundHeads(join(dataDir, 'log.db'));
  });
});
