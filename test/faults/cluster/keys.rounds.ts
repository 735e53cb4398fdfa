import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../../src/platform/clock.js';
import { startService } from '../../support/service.js';
import { type Answer, bodyOf, Client } from '../client.js';
import { removeCompiled } from '../process.js';
import { Cluster, faultSuite, MINUTES, ROOT_KEY, ROUNDS, report } from './cluster.js';
import { bodyFor, ORG, PUBLISH } from './ledger.js';

const RACERS = 50;
const MONTH = 31 * 24 * 3_600_000;

faultSuite('one Idempotency-Key', () => {
  const cluster = new Cluster({ CONTROL_SYNC_TIMEOUT_MS: '30000' });
  afterAll(async () => {
    await cluster.remove();
    removeCompiled();
  }, 3 * MINUTES);

  /** Every fifth has another body. Answers by body. */
  async function race(urls: readonly string[], key: string, name: string): Promise<[Answer[], Answer[]]> {
    const answers = await Promise.all(
      Array.from({ length: RACERS }, async (_, at) => {
        const body = bodyFor({ marker: at % 5 === 4 ? `${name}, other` : name, resource: name });
        const client = new Client(urls[at % urls.length] ?? '', key);
        return client.post(PUBLISH, body, { 'idempotency-key': name });
      }),
    );
    return [answers.filter((_, at) => at % 5 !== 4), answers.filter((_, at) => at % 5 === 4)];
  }

  /** One of the bodies won: the answer is its id, and the others are told 409. */
  async function expectOne(urls: readonly string[], key: string, name: string, before?: string): Promise<string> {
    const [same, others] = await race(urls, key, name);
    const [won, lost] = same[0]?.status === 201 ? [same, others] : [others, same];
    expect([...new Set(won.map(({ status }) => status))]).toEqual([201]);
    expect([...new Set(lost.map((one) => `${one.status} ${bodyOf<{ code: string }>(one).code}`))]).toEqual([
      '409 idempotency_conflict',
    ]);
    const ids = new Set([...won.map((one) => bodyOf<{ id: string }>(one).id), ...(before ? [before] : [])]);
    expect(ids.size).toBe(1);
    const listed = await new Client(urls[0] ?? '', key).all(
      `/audit/org/${ORG}/resource/name/${encodeURIComponent(name)}`,
    );
    expect(listed.map(({ id }) => id)).toEqual([...ids]);
    return [...ids][0] ?? '';
  }

  test(
    'makes one event, whoever publishes it, before and after a restart, and a month later',
    async () => {
      const projector = cluster.spawn('projector');
      const urls = await cluster.apis(2);
      const { key } = await new Client(urls[0] ?? '', ROOT_KEY).org(ORG);
      const ids = new Map<string, string>();
      for (let round = 1; round <= ROUNDS; round += 1) {
        ids.set(`key ${round}`, await expectOne(urls, key, `key ${round}`));
      }
      await cluster.end(projector, 'SIGKILL');
      const racing = expectOne(urls, key, 'while away');
      await delay(200);
      const second = cluster.spawn('projector');
      ids.set('while away', await racing);
      const again = await cluster.apis(2);
      for (const [name, id] of ids) await expectOne(again, key, name, id);

      await cluster.end(second, 'SIGTERM');
      const later = await startService({
        env: { ...cluster.env, CONTROL_ROLES: 'projector', CONTROL_LOG_LEVEL: 'silent' },
        clock: { now: () => systemClock.now() + MONTH },
      });
      for (const [name, id] of ids) await expectOne(again, key, name, id);
      await expectOne(again, key, 'only a month later');
      await later.remove();
      report(`one key: ${ids.size} of ${ids.size} keys, ${RACERS} racers each, three times`);
    },
    5 * MINUTES,
  );
});
