import { setTimeout as delay } from 'node:timers/promises';
import { Api, Org } from '../support/api.js';
import { halfSend } from '../support/half-sent.js';
import { Instances } from '../support/instances.js';
import { PATIENCE } from '../support/patience.js';
import { randomFor } from '../support/random.js';
import { clusterSuite } from './support.js';

const MINUTES = 60_000 * PATIENCE;
const ROUNDS = 12;
/** How long a revocation may take to reach another instance. */
const ELSEWHERE_MS = 1_000;

clusterSuite('a caller who is revoked at one instance while another has half of its request', () => {
  const instances = new Instances();
  const random = randomFor('revoked elsewhere');
  const json = { 'content-type': 'application/json' };
  let here: Api;
  let there: string;
  let org: Org;
  let made = 0;

  beforeAll(async () => {
    const [first = '', second = ''] = await instances.start(2);
    const key = await instances.org(first, 'acme');
    here = new Api(first, key);
    there = second;
    org = new Org(first, 'acme', key);
  }, 3 * MINUTES);
  afterAll(() => instances.remove(), 3 * MINUTES);

  /** A superuser of its own, and its revocation: resolves with the time of the answer. */
  async function superuser(): Promise<{ key: string; revoke(): Promise<number> }> {
    made += 1;
    const link = `/org/acme/serviceaccount/robot-${made}`;
    await here.post('/org/acme/serviceaccount', { name: `robot-${made}` });
    const members = JSON.stringify({ memberLinks: { $append: [link] } });
    await here.send('PATCH', '/org/acme/group/superusers', members, json);
    const { body } = await here.post<{ key: string }>(`${link}/-addKey`, { description: 'x' });
    return {
      key: body.key,
      async revoke() {
        expect((await here.send('DELETE', link)).status).toBe(204);
        return Date.now();
      },
    };
  }

  /** When the log took what the requests did. */
  async function effects(): Promise<ReadonlyMap<string, number>> {
    const events = await org.walk(`${org.audit}?pageSize=1000`);
    const done = events.filter(({ result }) => result?.['status'] !== 'DENIED');
    return new Map(done.map(({ requestId, receivedTime }) => [requestId, Date.parse(receivedTime)]));
  }

  const addKey = { path: '/org/acme/serviceaccount/admin/-addKey', body: { description: 'taken' } };
  const publish = { path: '/audit/org/acme/auditctx/app', body: { resource: { name: 'late' } } };

  async function half(what: typeof addKey | typeof publish, requestId: string) {
    const { key, revoke } = await superuser();
    // The other instance knows the key by then: it is asked before.
    expect((await new Api(there, key).get('/org/acme')).status).toBe(200);
    const sent = await halfSend(there, { method: 'POST', ...what, key, requestId }, 'first byte');
    await delay(20);
    return { ...sent, revoke };
  }

  test(
    'gets no change through after the answer to the revocation, not even at once',
    async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const { finish, answer, revoke } = await half(addKey, `change-${round}`);
        await revoke();
        finish();
        expect((await answer)?.status).toBe(401);
      }
      const done = await effects();
      for (let round = 0; round < ROUNDS; round += 1) expect(done.has(`change-${round}`)).toBe(false);
    },
    3 * MINUTES,
  );

  test(
    'gets no change through that races the revocation and comes after it in the log',
    async () => {
      const answered = new Map<string, number>();
      const statuses = new Map<number, number>();
      for (let round = 0; round < ROUNDS; round += 1) {
        const requestId = `race-${round}`;
        const { finish, answer, revoke } = await half(addKey, requestId);
        const revoked = revoke();
        await delay(random() * 15);
        finish();
        const status = (await answer)?.status ?? 0;
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        answered.set(requestId, await revoked);
      }
      process.stdout.write(`changes that raced a revocation elsewhere: ${JSON.stringify([...statuses])}\n`);
      const done = await effects();
      for (const [requestId, at] of answered) expect(done.get(requestId) ?? 0).toBeLessThanOrEqual(at);
    },
    3 * MINUTES,
  );

  test(
    'publishes nothing a second after the answer to the revocation',
    async () => {
      const answered = new Map<string, number>();
      for (let round = 0; round < ROUNDS; round += 1) {
        const requestId = `publish-${round}`;
        const { finish, answer, revoke } = await half(publish, requestId);
        answered.set(requestId, await revoke());
        const late = round % 2 === 0;
        if (late) await delay(ELSEWHERE_MS);
        finish();
        const status = (await answer)?.status;
        if (late) expect(status).toBe(401);
        else expect([201, 202, 401]).toContain(status);
      }
      const done = await effects();
      for (const [requestId, at] of answered) expect(done.get(requestId) ?? 0).toBeLessThanOrEqual(at + ELSEWHERE_MS);
    },
    3 * MINUTES,
  );
});
