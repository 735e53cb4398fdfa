import { createHash } from 'node:crypto';
import { bodyOf, Client } from '../client.js';
import { removeCompiled } from '../process.js';
import { Cluster, FULL, faultSuite, MINUTES, ROOT_KEY, report } from './cluster.js';

const NAMES = FULL ? 50 : 10;
const RACERS = 20;

faultSuite('organizations', () => {
  const cluster = new Cluster({ CONTROL_SYNC_TIMEOUT_MS: '30000' });
  afterAll(async () => {
    await cluster.remove();
    removeCompiled();
  }, 3 * MINUTES);

  const names = Array.from({ length: NAMES }, (_, at) => `org-${at}`);
  const digestOf = async (url: string, keys: readonly string[]) => {
    const digest = createHash('sha256');
    for (const [at, name] of names.entries()) {
      const answer = await new Client(url, keys[at] ?? '').get(`/org/${name}`);
      if (answer.status !== 200) throw new Error(`${name}: ${answer.status} ${answer.text}`);
      digest.update(answer.text);
    }
    return digest.digest('hex');
  };

  test(
    'of one name, asked for at several processes at once, are made once, and are the same everywhere',
    async () => {
      cluster.spawn('projector');
      const urls = await cluster.apis(3);
      const keys = await Promise.all(
        names.map(async (name) => {
          const racers = Array.from({ length: RACERS }, (_, at) =>
            new Client(urls[at % 3] ?? '', ROOT_KEY).post('/org', { name, description: `racer ${at}` }),
          );
          const answers = await Promise.all(racers);
          const statuses = answers.map(({ status }) => status).sort();
          expect([name, statuses]).toEqual([name, [201, ...Array(RACERS - 1).fill(409)]]);
          const made = answers.find(({ status }) => status === 201);
          return made ? bodyOf<{ key: string }>(made).key : '';
        }),
      );
      const [fourth = ''] = await cluster.apis(1);
      const digests = await Promise.all([...urls, fourth].map((url) => digestOf(url, keys)));
      expect(new Set(digests).size).toBe(1);
      report(`organizations raced: ${NAMES} of ${NAMES} names made once, ${RACERS} racers at 3 processes`);
    },
    5 * MINUTES,
  );
});
