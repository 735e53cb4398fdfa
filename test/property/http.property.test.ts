import { newOrg, type Org, withQuery } from '../support/api.js';
import fc from '../support/fast-check.js';
import { startService, type TestService } from '../support/service.js';
import { jsonObject, naming, seeded } from './arbitraries.js';

let service: TestService;

beforeAll(async () => {
  service = await startService();
});

afterAll(() => service.remove());

test('a resource of any name is found by its name in the path, in 100 runs', async () => {
  const org = await newOrg(service);
  await fc.assert(
    fc.asyncProperty(naming, async (name) => {
      const { status, body } = await org.publish({ resource: { name } });
      expect(status).toBe(201);
      // No URL path can carry these two (RFC 3986 section 5.2.4).
      const found = name === '.' || name === '..' ? await org.list({ resourceName: name }) : await org.named(name);
      expect(found.body.items[0]).toMatchObject({ id: body.id, resource: { name } });
      expect(found.body.items.every(({ resource }) => resource.name === name)).toBe(true);
    }),
    { ...seeded<[string]>(100), examples: [['.'], ['..'], ['%2F'], ['/'], ['😀'.repeat(1_024)]] },
  );
});

test('pages over any number of ties show each event once, in one order, whatever the page size', async () => {
  const filled = async (times: readonly number[]): Promise<Org> => {
    const org = await newOrg(service);
    await org.bulk(
      times.map((ms, index) => ({
        ...(index % 3 === 0 && { idempotencyKey: `k${index}` }),
        event: { resource: { name: 'tie' }, eventTime: new Date(Date.UTC(2026, 0, 1) + ms).toISOString() },
      })),
    );
    return org;
  };
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(3), { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 1, max: 20 }),
      fc.constantFrom('newest', 'received'),
      async (times, pageSize, order) => {
        const org = await filled(times);
        const path = `${org.audit}/resource/name/tie`;
        const events = await org.walk(withQuery(path, { pageSize: String(pageSize), order }));
        expect(new Set(events.map(({ id }) => id)).size).toBe(times.length);
        expect(events).toHaveLength(times.length);
        const places = events.map(({ eventTime, id }) => `${eventTime} ${id}`);
        if (order === 'newest') expect(places).toEqual([...places].sort().reverse());
        else expect(events.map(({ eventTime }) => Date.parse(eventTime) - Date.UTC(2026, 0, 1))).toEqual(times);
      },
    ),
    seeded(40),
  );
});

test('an event of any sound JSON comes back as it was sent', async () => {
  const org = await newOrg(service);
  await fc.assert(
    fc.asyncProperty(jsonObject, async (data) => {
      const event = await org.published({ resource: { id: 'any', data }, action: { data } });
      expect(event.resource.data).toEqual(JSON.parse(JSON.stringify(data)));
      expect(event.action?.['data']).toEqual(event.resource.data);
    }),
    seeded(100),
  );
});
