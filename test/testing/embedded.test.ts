import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type ControlService, startControlService } from '../../packages/testing/src/index.js';
import { ROOT } from '../../scripts/compile.js';
import { AuditClient } from '../../src/client/index.js';
import { PATIENCE } from '../support/patience.js';

const program = join(ROOT, 'dist/operator/main.js');

let service: ControlService;
/** Milliseconds of each start. The first start of a build compiles it, and a busy machine delays any. */
const starts: number[] = [];

beforeAll(async () => {
  for (let start = 1; start <= 3; start++) {
    await service?.stop();
    const began = performance.now();
    service = await startControlService({ program });
    starts.push(performance.now() - began);
  }
});
afterAll(() => service.stop());

test('is ready in about a second', async () => {
  expect((await fetch(`${service.endpoint}/health/ready`)).status).toBe(200);
  expect(Math.min(...starts)).toBeLessThan(3_000 * PATIENCE);
});

test('gives each test an organization with a key, which no other test writes to', async () => {
  const [mine, other] = await Promise.all([service.createOrg(), service.createOrg()]);
  const publisher = new AuditClient({ ...mine, context: 'orders' });
  const stranger = new AuditClient({ ...other, context: 'orders' });
  const { id } = await publisher.publish({ resource: { id: 'order-1' } }, { wait: 'searchable' });
  const ids: string[] = [];
  for await (const event of publisher.list()) ids.push(event.id);
  expect(ids).toEqual([id]);
  await expect(stranger.get(id)).rejects.toThrow('not_found');
  await Promise.all([publisher.close(), stranger.close()]);
});

test('names an organization as the test asks, and says why it cannot', async () => {
  expect(await service.createOrg('acme')).toMatchObject({ endpoint: service.endpoint, org: 'acme' });
  await expect(service.createOrg('acme')).rejects.toThrow(/acme: 409 .*already_exists/);
});

test('rejects with what the service wrote if it cannot start', async () => {
  const started = startControlService({ program, env: { CONTROL_READS_PER_ORG: 'many' } });
  await expect(started).rejects.toThrow(/ended \(1\) before it served; it wrote: .*CONTROL_READS_PER_ORG/s);
});

test('ends the service and removes what it has recorded when it is stopped', async () => {
  const passing = await startControlService({ program });
  expect(existsSync(passing.folder)).toBe(true);
  await passing.stop();
  await expect(fetch(`${passing.endpoint}/health/live`)).rejects.toThrow();
  expect(existsSync(passing.folder)).toBe(false);
});
