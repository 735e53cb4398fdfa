import { newOrg, type Org } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';

/** What operators and their tools look at. */
describe('the metrics', () => {
  let service: TestService;
  let org: Org;

  beforeAll(async () => {
    service = await startService();
    org = await newOrg(service);
  });

  afterAll(() => service.remove());

  async function metrics(): Promise<Map<string, number>> {
    const answer = await fetch(`${service.url}/metrics`);
    expect(answer.status).toBe(200);
    const lines = (await answer.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return new Map(
      lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
    );
  }

  it('count publishes by mode and outcome, and their latencies', async () => {
    await org.publish({ resource: { name: 'a' } });
    await org.publish({ resource: { name: 'a' } }, { async: true });
    await org.bulk([{ resource: { name: 'a' } }, { resource: { name: 'b' } }]);
    const found = await metrics();
    expect(found.get('control_publishes_total{mode="sync",outcome="searchable"}')).toBe(3);
    expect(found.get('control_publishes_total{mode="async",outcome="recorded"}')).toBe(1);
    expect(found.get('control_append_seconds_count')).toBe(3);
    expect(found.get('control_sync_wait_seconds_count')).toBe(2);
  });

  it('count refusals by their code, and conflicts that nobody waits for', async () => {
    await org.publish({});
    const twice = [{ resource: { name: 'a' } }, { resource: { name: 'b' } }];
    for (const event of twice) await org.publish(event, { async: true, idempotencyKey: 'one' });
    await org.publish({ resource: { name: 'c' } });
    const found = await metrics();
    expect(found.get('control_rejections_total{code="validation_failed"}')).toBe(1);
    expect(found.get('control_projection_outcomes_total{topic="audit",code="conflict"}')).toBe(1);
  });

  it('show how much is in the log, how much of it is indexed, and how much waits', async () => {
    const found = await metrics();
    const records = found.get('control_log_records{topic="audit"}');
    expect(records).toBeGreaterThan(0);
    expect(found.get('control_indexed_records{topic="audit"}')).toBe(records);
    expect(found.get('control_projection_lag_records{topic="audit"}')).toBe(0);
    expect(found.get('control_projection_lag_seconds{topic="audit"}')).toBe(0);
    expect(found.get('control_append_queue_entries')).toBe(0);
    expect(found.get('control_append_queue_bytes')).toBe(0);
  });

  it('name no organization and no key', async () => {
    const text = await (await fetch(`${service.url}/metrics`)).text();
    expect(text).not.toContain(org.name);
    expect(text).not.toContain('svc_');
  });
});

describe('the rate limit', () => {
  let service: TestService;
  let org: Org;
  let other: Org;

  beforeAll(async () => {
    service = await startService({ env: { CONTROL_RATE_LIMIT: '20' } });
    org = await newOrg(service);
    other = await newOrg(service);
  });

  afterAll(() => service.remove());

  it('refuses what is too much with 429 and Retry-After, and lets other organizations go on', async () => {
    const answers = await Promise.all(Array.from({ length: 60 }, () => org.publish({ resource: { name: 'a' } })));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(20);
    expect(answers.filter(({ status }) => status === 201).length).toBeGreaterThanOrEqual(20);
    for (const { headers, body } of refused) {
      expect(body).toMatchObject({ status: 429, code: 'rate_limited', id: headers.get('x-request-id') });
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    expect((await other.publish({ resource: { name: 'a' } })).status).toBe(201);
    expect((await fetch(`${service.url}/health/ready`)).status).toBe(200);
  });

  it('lets the organization go on when the second is over', async () => {
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect((await org.publish({ resource: { name: 'a' } })).status).toBe(201);
  });
});

describe('the description of the API', () => {
  let service: TestService;
  let api: (path: string) => Promise<Response>;

  beforeAll(async () => {
    service = await startService();
    api = (path) => fetch(service.url + path);
  });

  afterAll(() => service.remove());

  it('is served as a document', async () => {
    const answer = await api('/openapi.json');
    expect(answer.headers.get('content-type')).toContain('application/json');
    expect(((await answer.json()) as { openapi: string }).openapi).toBe('3.1.0');
  });

  it('is served as a page whose every file comes from here', async () => {
    const page = await (await api('/docs')).text();
    const files = [...page.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path = '']) => path);
    expect(files.length).toBeGreaterThanOrEqual(3);
    for (const path of files) {
      expect(path).toMatch(/^\/docs\//);
      expect((await api(path)).status).toBe(200);
    }
    expect((await api('/docs')).headers.get('content-security-policy')).toContain("default-src 'none'");
    expect((await api('/docs/..%2fpackage.json')).status).toBe(404);
    expect((await api('/docs/constructor')).status).toBe(404);
  });
});
