import { type Event, newOrg, type Org, pointers, type Refusal } from '../support/api.js';
import { rawOf } from '../support/ingest.js';
import { startService, type TestService } from '../support/service.js';

interface Context {
  readonly retentionDays: number | null;
  readonly ingest: Record<string, unknown> | null;
  readonly version?: number;
}

let service: TestService;
let org: Org;

beforeAll(async () => {
  service = await startService();
});

beforeEach(async () => {
  org = await newOrg(service);
});

afterAll(() => service.remove());

const contextPath = (name = 'app') => `${org.audit}/auditctx/${name}`;

function set<Body = Context & Refusal>(settings: unknown, { method = 'PUT', context = 'app' } = {}) {
  const headers = { 'content-type': 'application/json' };
  return org.api.send<Body>(method, contextPath(context), JSON.stringify(settings), headers);
}

describe('the mapping settings of an audit context', () => {
  const ingest = {
    preset: 'vector',
    resource: { type: { value: 'order' }, name: ['/order/id', '/order~1id'] },
    subject: { email: '/user/email' },
    action: '/verb',
    position: ['/file', '/offset'],
  };

  test('are null at first, are set, read back and sent back', async () => {
    expect((await set({ retentionDays: 30 })).body).toMatchObject({ ingest: null });
    const { status, body } = await set({ ingest });
    expect([status, body]).toEqual([200, expect.objectContaining({ retentionDays: 30, ingest, version: 2 })]);
    expect((await org.api.get<Context>(contextPath())).body).toEqual(body);
    expect((await set({ ...body, retentionDays: 60 })).body).toMatchObject({ retentionDays: 60, ingest, version: 3 });
  });

  test('stay when only the retention is set, and end with null', async () => {
    await set({ ingest });
    expect((await set({ retentionDays: 7 })).body).toMatchObject({ retentionDays: 7, ingest });
    expect((await set({ ingest: null })).body).toMatchObject({ retentionDays: 7, ingest: null });
    expect((await set({ ingest: null })).body).toMatchObject({ version: 3 });
  });

  test('are merged by PATCH, member by member', async () => {
    await set({ ingest });
    const { body } = await set({ ingest: { action: null, result: '/status' } }, { method: 'PATCH' });
    const { action: _action, ...others } = ingest;
    expect(body).toMatchObject({ retentionDays: null, ingest: { ...others, result: '/status' } });
    expect((await set({ ingest: null }, { method: 'PATCH' })).body).toMatchObject({ ingest: null });
  });

  test('are audited with what was before and after', async () => {
    await set({ ingest });
    await set({ ingest: { preset: 'syslog' } });
    const { items } = (await org.list({ contextName: 'svc', resourceType: 'auditctx' })).body;
    expect(items[0]?.action?.data).toMatchObject({ before: { ingest }, after: { ingest: { preset: 'syslog' } } });
  });

  test.each([
    [5, ['/ingest']],
    [{}, ['/ingest']],
    [{ action: '/verb' }, ['/ingest']],
    [{ preset: 'logstash' }, ['/ingest/preset']],
    [{ preset: 'vector', actions: '/verb' }, ['/ingest/actions']],
    [{ preset: 'vector', action: 'verb' }, ['/ingest/action']],
    [{ preset: 'vector', action: '' }, ['/ingest/action']],
    [{ preset: 'vector', action: '/~2' }, ['/ingest/action']],
    [{ preset: 'vector', action: 5 }, ['/ingest/action']],
    [{ preset: 'vector', action: [] }, ['/ingest/action']],
    [{ preset: 'vector', action: { value: '' } }, ['/ingest/action']],
    [{ preset: 'vector', action: ['/verb', ['/other']] }, ['/ingest/action']],
    [{ preset: 'vector', resource: { name: null } }, ['/ingest/resource/name']],
    [{ preset: 'vector', resource: { kind: '/kind' } }, ['/ingest/resource/kind']],
    [{ preset: 'vector', position: '/offset' }, ['/ingest/position']],
    [{ preset: 'vector', position: ['/offset', 5] }, ['/ingest/position/1']],
  ])('are refused as %j, naming the place', async (settings, places) => {
    const answer = await set<Refusal>({ ingest: settings });
    expect([answer.status, answer.body.code, pointers(answer)]).toEqual([400, 'validation_failed', places]);
  });

  test('say how a source is written', async () => {
    const { body } = await set<Refusal>({ ingest: { preset: 'vector', action: 'verb' } });
    expect(JSON.stringify(body)).toContain('must be a JSON pointer such as /user/name');
  });

  test('are not of the context that only the service writes', async () => {
    const answer = await set<Refusal>({ deniedRetentionDays: 30, ingest }, { context: 'svc' });
    expect([answer.status, pointers(answer)]).toEqual([400, ['/ingest']]);
    expect((await org.api.get<Context>(contextPath('svc'))).body).not.toHaveProperty('ingest');
  });
});

interface Result {
  readonly lines: number;
  readonly recorded: number;
  readonly repeated: number;
  readonly unmapped: number;
  readonly firstUnmapped: readonly { readonly line: number; readonly reason: string }[];
}

async function ingest(body: string | Uint8Array<ArrayBuffer>, headers: Readonly<Record<string, string>> = {}) {
  const url = `${service.url}${contextPath()}/-ingest`;
  const response = await fetch(url, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${org.key}`, 'content-type': 'application/json', ...headers },
  });
  const result = (await response.json()) as Result;
  expect([response.status, result]).toEqual([200, expect.objectContaining({ lines: expect.any(Number) })]);
  return result;
}

async function recorded(): Promise<readonly Event[]> {
  return (await org.list({ contextName: 'app', pageSize: '1000', order: 'received' })).body.items;
}

/** What is recorded of a body that makes one event. */
async function mapped(ingestSettings: unknown, body: string): Promise<Event> {
  expect((await set({ ingest: ingestSettings })).status).toBe(200);
  expect(await ingest(body)).toMatchObject({ lines: 1, recorded: 1, unmapped: 0, firstUnmapped: [] });
  const [event] = await recorded();
  if (!event) throw new Error('no event is recorded');
  return event;
}

const VECTOR = {
  file: '/var/log/apache/access.log',
  host: 'my-host.local',
  message: '53.126.150.246 - - [01/Oct/2020:11:25:58 -0400] "GET /disintermediate HTTP/2.0" 401 20308',
  source_type: 'file',
  timestamp: '2020-10-10T17:07:36.452332Z',
};

const CLOUDTRAIL = {
  eventVersion: '1.08',
  userIdentity: {
    type: 'IAMUser',
    principalId: 'AIDAXXXXXXXXXXXXXXXXX',
    accountId: '123837392027',
    userName: 'benjamin',
  },
  eventTime: '2023-07-10T11:42:23Z',
  eventSource: 's3.amazonaws.com',
  eventName: 'GetBucketPolicy',
  awsRegion: 'us-east-1',
  sourceIPAddress: '10.248.16.43',
  errorCode: 'NoSuchBucketPolicy',
  errorMessage: 'The bucket policy does not exist',
  requestParameters: { bucketName: 'evidence', Host: 'evidence.s3.amazonaws.com' },
  responseElements: null,
  eventID: 'c20d93d2-87e1-483d-9c6c-9cdfc35671d4',
};

const KUBERNETES = {
  level: 'Request',
  auditID: '841d3e6d-90d2-43df-8da4-684738bee3d5',
  stage: 'ResponseComplete',
  requestURI: '/api/v1/namespaces',
  verb: 'create',
  user: { username: 'ann@example.com', groups: ['system:authenticated'] },
  sourceIPs: ['192.168.99.1'],
  objectRef: { resource: 'namespaces', name: 'foo', apiVersion: 'v1' },
  responseStatus: { metadata: {}, code: 201 },
  requestReceivedTimestamp: '2018-10-25T13:58:49.730001Z',
  stageTimestamp: '2018-10-25T13:58:49.736141Z',
};

describe('a preset maps what its sender sends by default', () => {
  test.each([
    [
      'vector',
      JSON.stringify(VECTOR),
      {
        resource: { type: 'file', name: VECTOR.file, data: VECTOR },
        eventTime: '2020-10-10T17:07:36.452Z',
        eventTimeSent: VECTOR.timestamp,
        result: { message: VECTOR.message },
      },
    ],
    [
      'fluentbit',
      '[{"date":1700000000.123456,"log":"signed in","file":"/var/log/app.log","offset":17}]',
      {
        resource: { type: 'line', name: '/var/log/app.log' },
        eventTime: '2023-11-14T22:13:20.123Z',
        eventTimeSent: '2023-11-14T22:13:20.123456Z',
        result: { message: 'signed in' },
      },
    ],
    ['fluentbit', '{"date":1700000000.0,"log":"a"}', { resource: { type: 'line', name: 'app' } }],
    [
      'syslog',
      '{"SOURCE":"s_src","PROGRAM":"sshd","PRIORITY":"info","PID":"712","MESSAGE":"Accepted publickey","ISODATE":"2026-01-31T12:00:00+01:00","HOST":"db-1","FACILITY":"authpriv"}',
      {
        resource: { type: 'host', name: 'db-1' },
        action: { type: 'sshd' },
        result: { status: 'info', message: 'Accepted publickey' },
        eventTime: '2026-01-31T11:00:00.000Z',
      },
    ],
    [
      'syslog',
      '{"msg":" session opened","rawmsg":"<86>...","timereported":"2026-01-31T12:00:00.123456+00:00","hostname":"db-1","syslogtag":"su[7]:","programname":"su","syslogseverity":"6","uuid":null,"$!":null}',
      {
        resource: { type: 'host', name: 'db-1' },
        action: { type: 'su' },
        result: { status: '6', message: 'session opened' },
        eventTimeSent: '2026-01-31T12:00:00.123456+00:00',
      },
    ],
    [
      'syslog',
      '2026-01-31T12:00:00.5+00:00 db-1 sshd[712]: Accepted publickey for ann',
      {
        resource: {
          type: 'host',
          name: 'db-1',
          data: {
            line: '2026-01-31T12:00:00.5+00:00 db-1 sshd[712]: Accepted publickey for ann',
            timestamp: '2026-01-31T12:00:00.5+00:00',
            host: 'db-1',
            program: 'sshd',
            pid: '712',
            message: 'Accepted publickey for ann',
          },
        },
        action: { type: 'sshd' },
        eventTime: '2026-01-31T12:00:00.500Z',
      },
    ],
    [
      'syslog',
      '<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 [a@1 b="]\\""] BOM failed for lonvick',
      {
        resource: { name: 'mymachine.example.com', data: { msgid: 'ID47', facility: 'auth', severity: 'crit' } },
        action: { type: 'su' },
        result: { status: 'crit', message: 'BOM failed for lonvick' },
      },
    ],
    [
      'cloudtrail',
      JSON.stringify(CLOUDTRAIL),
      {
        resource: { type: 's3.amazonaws.com', name: 'evidence', data: CLOUDTRAIL },
        subject: { name: 'benjamin' },
        action: { type: 'GetBucketPolicy' },
        result: { status: 'NoSuchBucketPolicy', message: 'The bucket policy does not exist' },
        eventTime: '2023-07-10T11:42:23.000Z',
      },
    ],
    [
      'kubernetes',
      JSON.stringify({ kind: 'Event', apiVersion: 'audit.k8s.io/v1', ...KUBERNETES }),
      {
        resource: { type: 'namespaces', name: 'foo', id: '/api/v1/namespaces' },
        subject: { name: 'ann@example.com', email: 'ann@example.com' },
        action: { type: 'create' },
        result: { status: '201' },
        eventTimeSent: KUBERNETES.requestReceivedTimestamp,
      },
    ],
    ['plain', 'any text', { resource: { type: 'line', name: 'app', data: { line: 'any text' } } }],
    ['plain', '{"level":"warn","msg":"slow"}', { result: { status: 'warn', message: 'slow' } }],
  ])('%s: %s', async (preset, body, event) => {
    expect(await mapped({ preset }, body)).toMatchObject(event);
  });

  test('the records of a file of CloudTrail are one event each, and known by their eventID', async () => {
    await set({ ingest: { preset: 'cloudtrail' } });
    const file = JSON.stringify({ Records: [CLOUDTRAIL, { ...CLOUDTRAIL, eventID: 'another' }] }, null, 2);
    expect(await ingest(file)).toMatchObject({ lines: 2, recorded: 2, repeated: 0, unmapped: 0 });
    expect(await ingest(file)).toMatchObject({ lines: 2, recorded: 0, repeated: 2 });
  });

  test.each([
    ['a list that is there twice', '{"Records":[{"eventID":"a"}],"Records":[]}'],
    ['no list', '{"Records":null,\n"Logs":[{"eventID":"a"}]}'],
    ['an empty list and more', '{"Records":[],\n"more":1}'],
    ['a list and more', '{"Records":[{"eventID":"a"}],\n"more":1}'],
  ])('a file of CloudTrail with %s is one line', async (_what, file) => {
    await set({ ingest: { preset: 'cloudtrail' } });
    expect(await ingest(file)).toMatchObject({ lines: 1, recorded: 1, unmapped: 1 });
    expect((await recorded()).map(({ resource }) => resource.data?.raw)).toEqual([file]);
  });

  test('the objects of json_stream of Fluent Bit are one event each', async () => {
    await set({ ingest: { preset: 'fluentbit' } });
    expect(await ingest('{"date":1.5,"log":"a"}{"date":2.5,"log":"}{"}\n{"date":3.5,"log":"c"}')).toMatchObject({
      lines: 3,
      unmapped: 0,
    });
    expect((await recorded()).map(({ result }) => result?.message)).toEqual(['a', '}{', 'c']);
  });
});

describe('a mapping', () => {
  const byOrder = {
    resource: { type: { value: 'order' }, name: ['/order/id', '/order~1id'] },
    subject: { email: '/user', name: '/user' },
    action: '/verb',
    time: '/at',
    key: '/n',
  };

  test('records the line byte for byte, also its numbers', async () => {
    const line =
      '{"order":{"id":4711,"price":1.10,"big":12345678901234567890},"verb":"cancel","user":"ann@example.com"}';
    const event = await mapped({ ...byOrder, message: '/order/big' }, line);
    expect(event).toMatchObject({
      resource: { type: 'order', name: '4711' },
      subject: { email: 'ann@example.com', name: 'ann@example.com' },
      action: { type: 'cancel' },
      result: { message: '12345678901234567890' },
    });
    const response = await fetch(`${service.url}${org.audit}/id/${event.id}`, {
      headers: { authorization: `Bearer ${org.key}` },
    });
    expect(await response.text()).toContain(`"data":${line}`);
  });

  test('takes the first pointer that has a text, and passes over null, objects and empty texts', async () => {
    const event = await mapped(
      { resource: { name: ['/a', '/b', '/c', '/d/0', { value: 'none' }] } },
      '{"a":null,"b":{},"c":" ","d":["here"]}',
    );
    expect(event.resource.name).toBe('here');
  });

  test('leaves events of ours as they are', async () => {
    expect(await mapped(byOrder, '{"resource":{"name":"db-1"},"action":{"type":"drop"}}')).toMatchObject({
      resource: { name: 'db-1' },
      action: { type: 'drop' },
    });
  });

  test('keeps texts that lists filter by short and on one line; the line has the rest', async () => {
    const name = `a\u0000\n${'ü'.repeat(2_000)}`;
    const event = await mapped(byOrder, JSON.stringify({ order: { id: name } }));
    expect(event.resource).toEqual({
      type: 'order',
      name: `a ${'ü'.repeat(1_022)}`,
      data: { order: { id: name } },
    });
  });

  test.each([
    ['no JSON', 'plain text', /not valid JSON/],
    ['a scalar', '17', /no object/],
    ['a line without a name', '{"verb":"cancel"}', /no name or id of its resource at \/order\/id, \/order~1id/],
    ['a line with a member twice', '{"order":{"id":1,"id":2}}', /duplicate member/],
    ['a line that is too deep', `{"order":{"id":1},"a":${'['.repeat(30)}${']'.repeat(30)}}`, /levels deep/],
  ])('records %s as it came, with the reason', async (_what, line, reason) => {
    await set({ ingest: byOrder });
    const { unmapped, firstUnmapped } = await ingest(line);
    expect([unmapped, firstUnmapped]).toEqual([1, [{ line: 1, reason: expect.stringMatching(reason) }]]);
    const [event] = await recorded();
    expect(event?.resource).toMatchObject({ type: 'unmapped', data: { raw: line } });
  });

  test.each([
    ['cannot be read', '"yesterday"'],
    ['is more than 5 minutes ahead', JSON.stringify(new Date(Date.now() + 6 * 60_000).toISOString())],
    ['is no time at all', '{"seconds":1}'],
  ])('records a line whose time %s with the time of its arrival', async (_what, at) => {
    const event = await mapped(byOrder, `{"order":{"id":1},"at":${at}}`);
    expect(event.eventTime).toBe(event.postedTime);
  });

  test('knows a line by its key: the same line is a repetition, another one is not', async () => {
    await set({ ingest: byOrder });
    const line = '{"order":{"id":1},"n":7}';
    expect(await ingest(line)).toMatchObject({ recorded: 1, repeated: 0 });
    expect(await ingest(`${line}\n{"order":{"id":2},"n":7}`)).toMatchObject({ recorded: 1, repeated: 1 });
    expect(await ingest('{"n":8}\n{"n":8}')).toMatchObject({ recorded: 1, repeated: 1, unmapped: 1 });
    expect(await ingest('{"order":{"id":1}}\n{"order":{"id":1}}')).toMatchObject({ recorded: 2 });
  });

  test('knows a line by its key, also if it is too long for an event', async () => {
    await set({ ingest: { ...byOrder, key: '/meta/0/n~1k' } });
    const long = (key: string, count: number) =>
      JSON.stringify({ order: { id: 1 }, fill: Array(count).fill(['x']), meta: [{ 'n/k': key }] });
    const wrapped = (key: string) =>
      JSON.stringify({ event: { resource: { name: 'a', data: 'x'.repeat(300_000) } }, idempotencyKey: key });
    const lines = [long('a', 50_000), long('b', 50_000), long('c', 500_000), wrapped('d'), wrapped('e')];
    const { recorded: all, unmapped, firstUnmapped } = await ingest(lines.join('\n'));
    expect([all, unmapped]).toEqual([5, 5]);
    expect(firstUnmapped[0]?.reason).toBe(`the line has ${lines[0]?.length} bytes; an event may have at most 262144`);
    expect(await ingest(`${lines.join('\n')}\n${wrapped('f')}`)).toMatchObject({ recorded: 1, repeated: 5 });
  });

  test('knows a line by its file and offset', async () => {
    await set({ ingest: { preset: 'vector' } });
    const at = (offset: number) => JSON.stringify({ ...VECTOR, offset });
    expect(await ingest(`${at(0)}\n${at(90)}`)).toMatchObject({ recorded: 2 });
    expect(await ingest(`${at(90)}\n${at(180)}`)).toMatchObject({ recorded: 1, repeated: 1 });
  });
});

describe('audit events of Kubernetes', () => {
  const list = (...items: unknown[]) =>
    JSON.stringify({ kind: 'EventList', apiVersion: 'audit.k8s.io/v1', metadata: {}, items });

  test('are one event each without any setting, known by auditID and stage', async () => {
    const received = { ...KUBERNETES, stage: 'RequestReceived', responseStatus: undefined };
    expect(await ingest(list(received, KUBERNETES))).toMatchObject({ lines: 2, recorded: 2, unmapped: 0 });
    expect(await ingest(list(KUBERNETES, received))).toMatchObject({ recorded: 0, repeated: 2 });
    expect((await recorded()).map(({ resource, result }) => [resource.type, resource.name, result?.status])).toEqual([
      ['namespaces', 'foo', undefined],
      ['namespaces', 'foo', '201'],
    ]);
  });

  test('are taken with the timeout that the API server adds to the path', async () => {
    const url = `${service.url}${contextPath()}/-ingest?timeout=30s`;
    const headers = { authorization: `Bearer ${org.key}`, 'content-type': 'application/json' };
    expect((await fetch(url, { method: 'POST', body: list(KUBERNETES), headers })).status).toBe(200);
  });

  test('may be none', async () => {
    const none = '{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":null}';
    expect([await ingest(list()), await ingest(none)]).toMatchObject([{ lines: 0 }, { lines: 0 }]);
  });

  const HEAD = '{"kind":"EventList","apiVersion":"audit.k8s.io/v1"';

  test.each([
    ['items that are there twice', `${HEAD},"items":[{"auditID":"a"}],"items":[]}`],
    ['a kind that is there twice', `${HEAD},"kind":"EventList","items":[{"auditID":"a"}]}`],
    ['another list', `${HEAD},\n"Items":[{"auditID":"a"}]}`],
    ['another list beside null', `${HEAD},\n"items":null,"events":[{"auditID":"a"}]}`],
    ['another list beside items', `${HEAD},\n"items":[{"auditID":"a"}],"it\\u0065ms":[{}]}`],
    ['items that are no list', `${HEAD},\n"items":{"auditID":"a"}}`],
    ['another list of over 256 KiB', `${HEAD},\n"events":["${'x'.repeat(300_000)}"]}`],
  ])('are one line as a list with %s', async (_what, body) => {
    expect(await ingest(body)).toMatchObject({ lines: 1, recorded: 1, unmapped: 1 });
    expect((await recorded()).map(({ resource }) => resource.data?.raw).join('')).toBe(body);
  });

  test('are mapped by the pointers of the context, if it has any', async () => {
    await set({ ingest: { preset: 'vector', action: '/level', key: '/nothing' } });
    expect(await ingest(list(KUBERNETES))).toMatchObject({ recorded: 1 });
    expect(await ingest(list(KUBERNETES))).toMatchObject({ repeated: 1 });
    expect((await recorded())[0]).toMatchObject({ resource: { name: 'foo' }, action: { type: 'Request' } });
  });
});

describe('CloudEvents', () => {
  const attributes = { specversion: '1.0', id: '17', source: '/shop', type: 'com.example.order.cancelled' };
  const structured = { 'content-type': 'application/cloudevents+json; charset=utf-8' };
  const batched = { 'content-type': 'application/cloudevents-batch+json' };

  test('are taken structured and batched, and known by source and id', async () => {
    const event = { ...attributes, subject: 'order-1', time: '2026-01-31T12:00:00.123456Z', data: { price: 1 } };
    expect(await ingest(JSON.stringify(event), structured)).toMatchObject({ lines: 1, recorded: 1, unmapped: 0 });
    const others = [event, { ...event, id: '18' }, { ...event, source: '/other' }];
    expect(await ingest(JSON.stringify(others), batched)).toMatchObject({ lines: 3, recorded: 2, repeated: 1 });
    expect((await recorded())[0]).toMatchObject({
      resource: { type: attributes.type, name: 'order-1', id: '/shop', data: event },
      action: { type: attributes.type },
      eventTimeSent: event.time,
    });
  });

  test.each([
    ['application/json', '{"price":1.10}', { datacontenttype: 'application/json', data: { price: 1.1 } }],
    ['text/plain', 'grün', { datacontenttype: 'text/plain', data: 'grün' }],
    ['application/octet-stream', Buffer.from([0xff, 0]), { data_base64: '/wA=' }],
  ])('are taken in binary mode with data of type %s', async (type, body, data) => {
    const headers = { 'content-type': type, 'ce-specversion': '1.0', 'ce-id': '17', 'ce-source': '/shop' };
    const named = { ...headers, 'ce-type': 'cancelled', 'ce-subject': 'gr%C3%BCn%20%22' };
    expect(await ingest(body, named)).toMatchObject({ lines: 1, recorded: 1, unmapped: 0 });
    expect(await ingest(body, named)).toMatchObject({ repeated: 1 });
    const { resource } = (await recorded())[0] as Event;
    expect(resource).toMatchObject({ type: 'cancelled', name: 'grün "', data: { id: '17', ...data } });
  });

  test('that carry an event of ours are that event, and keep their attributes in its context', async () => {
    const data = { resource: { name: 'db-1' }, action: { type: 'drop' }, context: { location: 'eu', data: { a: 1 } } };
    expect(await ingest(JSON.stringify({ ...attributes, data }), structured)).toMatchObject({ unmapped: 0 });
    expect(await ingest(JSON.stringify({ ...attributes, data }), structured)).toMatchObject({ repeated: 1 });
    expect((await recorded())[0]).toMatchObject({
      resource: { name: 'db-1' },
      action: { type: 'drop' },
      context: { location: 'eu', data: { a: 1, cloudevent: attributes } },
    });
  });

  test('of another version are known by source and id, too', async () => {
    const event = JSON.stringify({ ...attributes, specversion: '1.1' });
    expect(await ingest(event, structured)).toMatchObject({ recorded: 1, unmapped: 1 });
    expect(await ingest(event, structured)).toMatchObject({ recorded: 0, repeated: 1 });
  });

  test('of over 256 KiB are known by source and id, in each mode', async () => {
    const event = (id: string) => JSON.stringify({ ...attributes, id, data: { fill: Array(100_000).fill([1]) } });
    const headers = {
      'content-type': 'application/json',
      'ce-specversion': '1.0',
      'ce-source': '/shop',
      'ce-type': 't',
    };
    const sendings = [
      () => ingest(event('1'), structured),
      () => ingest(`[${event('2')}]`, batched),
      () => ingest(JSON.stringify({ fill: Array(100_000).fill([1]) }), { ...headers, 'ce-id': '3' }),
      () => ingest('ü"\n'.repeat(100_000), { ...headers, 'content-type': 'text/plain', 'ce-id': '4' }),
      () => ingest(Buffer.alloc(300_001, 0xff), { ...headers, 'content-type': 'image/png', 'ce-id': '5' }),
    ];
    for (const send of sendings) {
      expect(await send()).toMatchObject({ lines: 1, recorded: 1, unmapped: 1 });
      expect(await send()).toMatchObject({ lines: 1, recorded: 0, repeated: 1 });
    }
  });

  test('in binary mode over 256 KiB keep their data', async () => {
    const headers = { 'ce-specversion': '1.0', 'ce-source': '/shop', 'ce-type': 't', 'ce-id': '1' };
    const [text, bytes] = ['ü"\n\\'.repeat(100_000), Buffer.alloc(300_001, 0xfe)];
    await ingest(text, { ...headers, 'content-type': 'text/plain' });
    await ingest(bytes, { ...headers, 'content-type': 'image/png', 'ce-id': '2' });
    const events = await recorded();
    const last = events.findIndex(
      ({ resource }) => (resource.data as { part: number }).part === 1 && resource !== events[0]?.resource,
    );
    const [one, other] = [events.slice(0, last), events.slice(last)].map((parts) =>
      JSON.parse(rawOf(parts).toString()),
    );
    expect(one.data === text).toBe(true);
    expect(Buffer.from(other.data_base64, 'base64').equals(bytes)).toBe(true);
  });

  test.each([
    ['an attribute is missing', '{"specversion":"1.0","id":"1","source":"/a"}', /no attribute type/],
    ['it is of another version', '{"specversion":"0.3","id":"1","source":"/a","type":"t"}', /specversion 0\.3/],
    ['it is no JSON', 'text', /not valid JSON/],
    ['it is no object', '[]', /no JSON object/],
  ])('are recorded as they came if %s', async (_what, body, reason) => {
    const { firstUnmapped } = await ingest(body, structured);
    expect(firstUnmapped).toEqual([{ line: 1, reason: expect.stringMatching(reason) }]);
    expect((await recorded())[0]?.resource.data).toMatchObject({ raw: body });
  });
});
