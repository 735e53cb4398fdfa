import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { emptyFold } from '../../src/control/fold.js';
import { ControlSnapshots } from '../../src/control/snapshot.js';
import { Api } from '../support/api.js';
import { newClusterStore } from '../support/cluster-store.js';
import { Instances } from '../support/instances.js';
import { PATIENCE } from '../support/patience.js';
import { Seed } from '../support/seed.js';
import { clusterSuite } from './support.js';

/** More than are folded again after a regular stop. */
const RECORDS = 5_200;
const MINUTES = 60_000 * PATIENCE;

clusterSuite('a snapshot of the fold of control in Kafka', () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'control-snapshot-')), 'snapshots');
  const file = join(folder, 'control.snapshot');
  const instances = new Instances({ CONTROL_ROLES: 'api,projector', CONTROL_SNAPSHOT_DIR: folder });
  const other = newClusterStore();
  const seed = new Seed();
  const key = seed.org('acme');

  const loaded = async (store = instances.store) => {
    const log = await store.openLog();
    try {
      const fold = emptyFold();
      const from = await new ControlSnapshots(file, log, pino({ level: 'silent' })).load(fold);
      return { from, head: (await log.head('control'))[0] ?? 0, streams: fold.streams.size };
    } finally {
      await log.close();
    }
  };

  beforeAll(async () => {
    for (let n = 0; n < RECORDS; n += 1) seed.account('acme', `robot-${n}`);
    const log = await instances.store.openLog();
    await log.append(seed.take()).finally(() => log.close());
  });

  afterAll(async () => {
    await instances.remove();
    await other.remove();
    rmSync(join(folder, '..'), { recursive: true });
  });

  it(
    'is written by a process that stops, for its user alone, and read at the next start',
    async () => {
      await instances.start(1);
      await instances.stop();
      expect(statSync(folder).mode & 0o777).toBe(0o700);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const { from, head, streams } = await loaded();
      expect(from).toBeGreaterThan(RECORDS);
      expect(from).toBe(head);
      expect(streams).toBeGreaterThan(RECORDS);
      const [url = ''] = await instances.start(1);
      expect((await new Api(url, key).get(`/org/acme/serviceaccount/robot-${RECORDS - 1}`)).status).toBe(200);
      expect((await new Api(url, key).post('/org/acme/serviceaccount', { name: 'one-more' })).status).toBe(201);
      expect((await new Api(url, key).get('/org/acme/serviceaccount/one-more')).status).toBe(200);
    },
    5 * MINUTES,
  );

  it('is not used with another Kafka', async () => {
    const seeded = new Seed();
    seeded.org('acme');
    const log = await other.openLog();
    await log.append(seeded.take()).finally(() => log.close());
    expect(await loaded(other)).toMatchObject({ from: 0, streams: 0 });
  });
});
