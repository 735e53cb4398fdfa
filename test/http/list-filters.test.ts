import { type Event, type Json, newOrg, type Org, pointers, type Refusal, withQuery } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';

let service: TestService;
let org: Org;

/** Two values for every field that lists filter by. */
const VALUES = {
  location: ['eu', 'us'],
  gvcAlias: ['gvc-1', 'gvc-2'],
  podId: ['pod-1', 'pod-2'],
  actionType: ['edit', 'delete'],
  resourceType: ['workload', 'secret'],
  contextName: ['app', 'billing'],
  resourceId: ['id-1', 'id-2'],
  resourceName: ['web', 'db'],
  subjectEmail: ['ann@example.com', 'bob@example.com'],
  requestId: ['r-1', 'r-2'],
  resultStatus: ['OK', 'DENIED'],
} as const;

type Field = keyof typeof VALUES;
const FIELDS = Object.keys(VALUES) as Field[];

/** What the filter `field` looks at. */
const READ: Record<Field, (event: Event) => unknown> = {
  location: ({ context }) => context['location'],
  gvcAlias: ({ context }) => context['gvcAlias'],
  podId: ({ context }) => context['podId'],
  actionType: ({ action }) => action?.type,
  resourceType: ({ resource }) => resource.type,
  contextName: ({ context }) => context.name,
  resourceId: ({ resource }) => resource.id,
  resourceName: ({ resource }) => resource.name,
  subjectEmail: ({ subject }) => subject['email'],
  requestId: ({ requestId }) => requestId,
  resultStatus: ({ result }) => result?.['status'],
};

let all: Event[];

beforeAll(async () => {
  service = await startService();
  org = await newOrg(service);
  for (const context of VALUES.contextName) {
    const items = Array.from({ length: 60 }, (_, index) => eventOf(index + (context === 'app' ? 0 : 60)));
    await org.bulk(items, { context });
  }
  all = await org.walk(withQuery(org.audit, { pageSize: '1000' }));
});

afterAll(() => service.remove());

/** Each field follows a bit of its own of a spread number, so every combination of two occurs. */
function eventOf(index: number): Json {
  const bits = Math.imul(index + 1, 0x9e3779b1) >>> 0;
  const pick = (field: Field) => VALUES[field][(bits >>> FIELDS.indexOf(field)) & 1];
  return {
    resource: { id: pick('resourceId'), name: pick('resourceName'), type: pick('resourceType') },
    eventTime: new Date(Date.UTC(2026, 0, 1, 0, 0, index)).toISOString(),
    requestId: pick('requestId'),
    context: { location: pick('location'), gvcAlias: pick('gvcAlias'), podId: pick('podId') },
    subject: { email: pick('subjectEmail') },
    action: { type: pick('actionType') },
    result: { status: pick('resultStatus') },
  };
}

async function ids(path: string, query: Record<string, string>): Promise<string[]> {
  return (await org.walk(withQuery(path, query))).map(({ id }) => id);
}

const where = (test: (event: Event) => boolean) => all.filter(test).map(({ id }) => id);

describe.each(FIELDS)('the filter %s', (field) => {
  test.each([0, 1] as const)('picks exactly the events that have value %d', async (which) => {
    const value = VALUES[field][which];
    const expected = where((event) => READ[field](event) === value);
    expect(expected.length).toBeGreaterThan(0);
    expect(expected.length).toBeLessThan(all.length);
    expect(await ids(org.audit, { [field]: value })).toEqual(expected);
  });

  test('is exact: neither a prefix nor another case matches', async () => {
    const value = VALUES[field][0];
    const other = value === value.toUpperCase() ? value.toLowerCase() : value.toUpperCase();
    for (const near of [value.slice(0, -1), `${value} `, other, `${value}*`, '%']) {
      expect(await ids(org.audit, { [field]: near })).toEqual([]);
    }
  });
});

describe('the filter idEnding', () => {
  test('finds events by the last digits of their identifiers, with other filters, in both orders', async () => {
    for (const { id } of [all[0], all.at(-1)] as Event[]) {
      for (const count of [8, 10, 12]) {
        const ending = id.slice(-count);
        const expected = where((event) => event.id.endsWith(ending));
        expect(expected).toContain(id);
        expect(await ids(org.audit, { idEnding: ending })).toEqual(expected);
        expect(await ids(org.audit, { idEnding: ending, order: 'received' })).toEqual(expected);
      }
    }
    const [first] = all as [Event];
    const other = first.context.name === 'app' ? 'billing' : 'app';
    expect(await ids(org.audit, { idEnding: first.id.slice(-12), contextName: other })).toEqual([]);
    const stranger = await newOrg(service);
    expect(await stranger.walk(withQuery(stranger.audit, { idEnding: first.id.slice(-12) }))).toEqual([]);
  });

  test.each(['', '099a805', '099a80571', '099A8057', '*99a8057', '????????', '099a8057.*', '099a8057099a80'])(
    'refuses %j',
    async (idEnding) => {
      const refused = await org.list<Refusal>({ idEnding });
      expect([refused.status, refused.body.code, pointers(refused)]).toEqual([400, 'validation_failed', ['?idEnding']]);
    },
  );
});

describe('filters together', () => {
  const pairs = FIELDS.flatMap((one, at) => FIELDS.slice(at + 1).map((two) => [one, two] as const));

  test.each(pairs)('%s AND %s', async (one, two) => {
    const query = { [one]: VALUES[one][0], [two]: VALUES[two][1] };
    const expected = where((event) => READ[one](event) === query[one] && READ[two](event) === query[two]);
    expect(await ids(org.audit, query)).toEqual(expected);
  });

  test('all at once find the one event that has them all', async () => {
    const [some] = all.filter(({ context }) => context.name === 'billing');
    const query = Object.fromEntries(FIELDS.map((field) => [field, String(some && READ[field](some))]));
    const expected = where((event) => FIELDS.every((field) => READ[field](event) === query[field]));
    expect(expected).toContain(some?.id);
    expect(await ids(org.audit, query)).toEqual(expected);
  });

  test('narrow the list of a named resource and of a resource id', async () => {
    const query = { contextName: 'billing', location: 'eu' };
    const matches = ({ context }: Event) => context.name === 'billing' && context['location'] === 'eu';
    const byName = where((event) => event.resource.name === 'web' && matches(event));
    const byId = where((event) => event.resource.id === 'id-2' && matches(event));
    expect(await ids(`${org.audit}/resource/name/web`, query)).toEqual(byName);
    expect(await ids(`${org.audit}/resource/id/id-2`, query)).toEqual(byId);
  });

  test('that nothing matches give an empty list without next', async () => {
    const { body } = await org.list({ location: 'eu', podId: 'pod-3' });
    expect(body.items).toEqual([]);
    expect(body.links.map(({ rel }) => rel)).toEqual(['self']);
  });
});

describe('an absent field', () => {
  test('matches no filter, an empty value only the empty filter', async () => {
    const fresh = await newOrg(service);
    await fresh.publish({ resource: { name: 'absent' } });
    await fresh.publish({ resource: { name: 'empty' }, context: { location: '' } });
    expect((await fresh.list({ location: '' })).body.items.map(({ resource }) => resource.name)).toEqual(['empty']);
  });
});

describe('fromEvent and toEvent', () => {
  const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

  test('are inclusive and exclusive', async () => {
    const { items } = (await org.list({ fromEvent: at(3), toEvent: at(6) })).body;
    expect(items.map(({ eventTime }) => eventTime)).toEqual([at(5), at(4), at(3)]);
  });

  test('work alone, to the millisecond', async () => {
    const last = await ids(org.audit, { fromEvent: at(119).replace('.000', '.001'), contextName: 'billing' });
    const first = await ids(org.audit, { toEvent: at(0).replace('.000', '.001') });
    expect(last).toEqual([]);
    expect(first).toEqual(where(({ eventTime }) => eventTime === at(0)));
  });

  test('combine with other filters, and compare instants whatever their offset', async () => {
    const query = { fromEvent: '2026-01-01T05:30:10+05:30', toEvent: at(20), location: 'eu' };
    const expected = where(
      (event) => event.context['location'] === 'eu' && event.eventTime >= at(10) && event.eventTime < at(20),
    );
    expect(expected.length).toBeGreaterThan(0);
    expect(await ids(org.audit, query)).toEqual(expected);
  });

  test('may be the first and the last instant there is', async () => {
    const query = { fromEvent: '0001-01-01T00:00:00Z', toEvent: '9999-12-31T23:59:59.999Z', pageSize: '1000' };
    expect(await ids(org.audit, query)).toEqual(all.map(({ id }) => id));
  });

  test('find nothing when they are the same or the wrong way round', async () => {
    expect(await ids(org.audit, { fromEvent: at(5), toEvent: at(5) })).toEqual([]);
    expect(await ids(org.audit, { fromEvent: at(9), toEvent: at(5) })).toEqual([]);
  });

  test('must be instants', async () => {
    const answer = await org.list<Refusal>({ fromEvent: '2026-01-01', toEvent: '2026-13-01T00:00:00Z' });
    expect(answer.status).toBe(400);
    expect(pointers(answer)).toEqual(['?fromEvent', '?toEvent']);
  });
});

describe('the query of a list', () => {
  test('is echoed as effective, all as text', async () => {
    const { body } = await org.named('web', { location: 'eu', pageSize: '7', page: '2' });
    expect(body.query).toEqual({ resourceName: 'web', location: 'eu', page: '2', pageSize: '7', order: 'newest' });
    expect((await org.list()).body.query).toEqual({ page: '1', pageSize: '50', order: 'newest' });
  });

  test('is repeated by the self link', async () => {
    const { text, body } = await org.list({ location: 'eu', pageSize: '3', fromEvent: '2026-01-01T00:00:00+00:00' });
    const again = await org.api.get(body.links[0]?.href ?? '');
    // A cursor is sealed anew each time.
    const withoutCursor = (answer: string) => answer.replace(/cursor=[\w-]+/, 'cursor=');
    expect(withoutCursor(again.text)).toBe(withoutCursor(text));
  });

  test('may not have an unknown parameter', async () => {
    expect(pointers(await org.list<Refusal>({ location: 'eu', zone: 'a', limit: '5' }))).toEqual(['?limit', '?zone']);
  });

  test('may not have a parameter twice', async () => {
    const answer = await org.api.get<Refusal>(`${org.audit}?location=eu&location=us`);
    expect(answer.status).toBe(400);
    expect(answer.body.details.fields).toEqual([{ pointer: '?location', reason: 'must be given only once' }]);
  });

  test.each(['__proto__', 'constructor', 'toString'])('may not have the parameter %s', async (name) => {
    expect(pointers(await org.list<Refusal>({ [name]: 'x' }))).toEqual([`?${name}`]);
  });

  test('may not filter by what the path fixes', async () => {
    expect(pointers(await org.named<Refusal>('web', { resourceName: 'db' }))).toEqual(['?resourceName']);
    const byId = await org.api.get<Refusal>(`${org.audit}/resource/id/id-1?resourceId=id-1`);
    expect(pointers(byId)).toEqual(['?resourceId']);
  });

  test('may not have text that is not percent-encoded UTF-8', async () => {
    for (const bad of ['%zz', '%ff', '%']) {
      const answer = await org.api.raw('GET', `${org.audit}?location=${bad}`);
      expect([bad, answer.status]).toEqual([bad, 400]);
    }
  });
});

// Exports are events themselves: what follows here would list them.
describe('counts and exports take the same filters', () => {
  test.each([...FIELDS, 'idEnding'] as const)('%s', async (field) => {
    const [first] = all.filter(({ context }) => context.name === 'app') as [Event];
    const value = field === 'idEnding' ? first.id.slice(-12) : String(READ[field](first));
    const expected = await ids(org.audit, { [field]: value });
    expect(expected).toContain(first.id);

    const counted = await org.api.get<{ count: number }>(
      withQuery(`${org.audit}/-stats`, { by: 'contextName', [field]: value }),
    );
    expect([counted.status, counted.body.count]).toEqual([200, expected.length]);
    // An export with proofs waits until what came before it is sealed: one field shows it.
    for (const proof of field === 'idEnding' ? ['false', 'true'] : ['false']) {
      const { status, text } = await org.api.get(withQuery(`${org.audit}/-export`, { proof, [field]: value }));
      expect(status).toBe(200);
      for (const id of expected) expect(text).toContain(id);
    }
  });
});
