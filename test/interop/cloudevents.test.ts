import { fileURLToPath } from 'node:url';
import { CloudEvent, HTTP } from 'cloudevents';
import { svc } from '../cli/support/svc.js';
import { type Event, newOrg, type Org } from '../support/api.js';
import { demoEvents } from '../support/demo.js';
import { pythonWith, runPython } from '../support/python.js';
import { startService, type TestService } from '../support/service.js';

type Audit = Readonly<Record<string, unknown>>;

const DEMO = demoEvents<Audit>();

const python = pythonWith('cloudevents-1.12.0', ['cloudevents==1.12.0']);

let service: TestService;
let org: Org;
let path: string;

beforeAll(async () => {
  service = await startService();
});

beforeEach(async () => {
  org = await newOrg(service);
  path = `${org.audit}/auditctx/app/-ingest`;
});

afterAll(() => service.remove());

interface Carried extends Event {
  readonly context: Event['context'] & { readonly data: { readonly cloudevent: { readonly id: string } } };
}

/** Every demo event is read back under the number that it was sent with, as it was sent. */
async function expectAll(): Promise<void> {
  const { items } = (await org.list({ contextName: 'app', pageSize: '1000' })).body;
  const byNumber = new Map((items as readonly Carried[]).map((event) => [event.context.data.cloudevent.id, event]));
  expect([items.length, byNumber.size]).toEqual([DEMO.length, DEMO.length]);
  for (const [number, { eventTime: _time, ...event }] of DEMO.entries())
    expect(byNumber.get(String(number))).toMatchObject(event);
}

async function send(headers: unknown, body: unknown): Promise<{ recorded: number; unmapped: number }> {
  const sent = { authorization: `Bearer ${org.key}`, ...(headers as Record<string, string>) };
  const response = await fetch(`${service.url}${path}`, { method: 'POST', headers: sent, body: String(body) });
  expect(response.status).toBe(200);
  return (await response.json()) as { recorded: number; unmapped: number };
}

test('the SDK of npm publishes the demo events: structured, binary and batched', async () => {
  const events = DEMO.map(
    (data, number) => new CloudEvent({ type: 'com.example.audit', source: '/node', id: String(number), data }),
  );
  const of = (mode: number) => events.filter((_, number) => number % 3 === mode);
  const sendings = [
    ...of(0).map((event) => HTTP.structured(event)),
    ...of(1).map((event) => HTTP.binary(event)),
    { headers: { 'content-type': 'application/cloudevents-batch+json' }, body: JSON.stringify(of(2)) },
  ];
  const results = [];
  for (let at = 0; at < sendings.length; at += 16)
    results.push(...(await Promise.all(sendings.slice(at, at + 16).map(({ headers, body }) => send(headers, body)))));
  expect(results.reduce((sum, { recorded }) => sum + recorded, 0)).toBe(DEMO.length);
  expect(results.reduce((sum, { unmapped }) => sum + unmapped, 0)).toBe(0);
  await expectAll();
});

(python ? test : test.skip)('the SDK of PyPI publishes the demo events: structured and binary', async () => {
  const program = fileURLToPath(new URL('python/publish_cloudevents.py', import.meta.url));
  const input = DEMO.map((event) => JSON.stringify(event)).join('\n');
  const { out, err } = await runPython(python ?? '', [program, `${service.url}${path}`, org.key], input);
  expect([err, JSON.parse(out || '{}')]).toEqual([
    '',
    { lines: DEMO.length, recorded: DEMO.length, repeated: 0, unmapped: 0 },
  ]);
  await expectAll();
});

(python ? test : test.skip)('the SDK of PyPI reads what svc prints as CloudEvents', async () => {
  await org.bulk(DEMO, { context: 'app' });
  const env = { SVC_ENDPOINT: service.url, SVC_ORG: org.name, SVC_TOKEN: org.key };
  const { stdout } = await svc(['audit', 'list', '--context', 'app', '--max', '0', '-o', 'cloudevents'], { env });
  const program = fileURLToPath(new URL('python/read_cloudevents.py', import.meta.url));
  const { out, err } = await runPython(python ?? '', [program], stdout);
  expect(err).toBe('');
  const { items } = (await org.list({ contextName: 'app', pageSize: '1000' })).body;
  const read = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(read).toEqual(
    items.map((event) => ({
      specversion: '1.0',
      id: event.id,
      source: `/audit/org/${org.name}/auditctx/app`,
      type: `dev.svc.control.audit.${event.action?.type}`,
      subject: event.resource.name,
      time: event.eventTime,
      datacontenttype: 'application/json',
      data: event,
    })),
  );
});
