import {
  EVENTS_OF_A_NEW_ORG,
  type Event,
  type EventPage,
  linkOf,
  newOrg,
  type Org,
  pointers,
  type Refusal,
  withQuery,
} from '../support/api.js';
import { startService, type TestService } from '../support/service.js';

let service: TestService;
let org: Org;

beforeAll(async () => {
  service = await startService();
});

beforeEach(async () => {
  org = await newOrg(service);
});

afterAll(() => service.remove());

const named = (name: string, eventTime?: string) => ({
  resource: { name },
  ...(eventTime !== undefined && { eventTime }),
});
const names = (events: readonly Event[]) => events.map(({ resource }) => resource.name);
const received = (query: Record<string, string> = {}) => ({ contextName: 'app', order: 'received', ...query });

test('order=received lists the events as the log took them, whatever their own time', async () => {
  const times = ['2026-05-01T00:00:00Z', '2020-01-01T00:00:00Z', undefined, '0001-01-01T00:00:00Z'];
  for (const [index, time] of times.entries()) await org.publish(named(`n${index}`, time));
  expect(names((await org.list(received())).body.items)).toEqual(['n0', 'n1', 'n2', 'n3']);
});

test('order=received pages through everything once', async () => {
  await org.bulk(Array.from({ length: 45 }, (_, index) => named(`n${index}`)));
  const events = await org.walk(withQuery(org.audit, received({ pageSize: '10' })));
  expect(names(events)).toEqual(Array.from({ length: 45 }, (_, index) => `n${index}`));
});

test('a page by number and the next link show the same', async () => {
  await org.bulk(Array.from({ length: 25 }, (_, index) => named(`n${index}`)));
  const first = await org.list(received({ pageSize: '10' }));
  const byLink = await org.api.get(linkOf(first.body, 'next') ?? '');
  const byNumber = await org.list(received({ pageSize: '10', page: '2' }));
  expect(byNumber.body.items).toEqual(byLink.body.items);
});

test('the service’s own events are in the order received too', async () => {
  await org.publish(named('mine'));
  const { items } = (await org.list({ order: 'received' })).body;
  expect(items.map(({ context }) => context.name)).toEqual([
    ...Array.from({ length: EVENTS_OF_A_NEW_ORG }, () => 'svc'),
    'app',
  ]);
});

describe('the resume link', () => {
  test('is there without a next, and then shows only what came later, however old its time is', async () => {
    await org.publish(named('first'));
    const page = (await org.list(received())).body;
    expect(linkOf(page, 'next')).toBeUndefined();
    await org.publish(named('second', '1999-01-01T00:00:00Z'));
    const later = await org.api.get(linkOf(page, 'resume') ?? '');
    expect(names(later.body.items)).toEqual(['second']);
  });

  test('goes on again and again, also from an empty page', async () => {
    await org.publish(named('n0'));
    let page: EventPage = (await org.list(received())).body;
    const seen = names(page.items);
    for (let round = 1; round < 5; round += 1) {
      page = (await org.api.get(linkOf(page, 'resume') ?? '')).body;
      expect(page.items).toEqual([]);
      await org.bulk([named(`n${round}`, '1999-01-01T00:00:00Z'), named(`n${round}`)]);
      page = (await org.api.get(linkOf(page, 'resume') ?? '')).body;
      seen.push(...names(page.items));
    }
    expect(seen).toEqual(['n0', 'n1', 'n1', 'n2', 'n2', 'n3', 'n3', 'n4', 'n4']);
  });

  test('misses nothing and repeats nothing while publishers are at work', async () => {
    await org.publish(named('start'));
    const publishing = Promise.all(
      Array.from({ length: 4 }, async (_, writer) => {
        for (let index = 0; index < 25; index += 1) {
          await org.publish(named(`w${writer}-${index}`, index % 2 ? '1999-01-01T00:00:00Z' : undefined), {
            async: true,
          });
        }
      }),
    );
    let done = false;
    publishing.then(() => (done = true));
    const seen: Event[] = [];
    let at = withQuery(org.audit, received({ pageSize: '9' }));
    for (let quiet = 0; quiet < 2; ) {
      const { body }: { body: EventPage } = await org.api.get(at);
      seen.push(...body.items);
      at = linkOf(body, 'resume') ?? at;
      if (done && body.items.length === 0) {
        // What was acknowledged async is searchable once a later sync publish is.
        await org.publish(named('barrier'), { context: 'barrier' });
        quiet += 1;
      } else {
        quiet = 0;
      }
    }
    expect(seen).toHaveLength(101);
    expect(new Set(names(seen)).size).toBe(101);
  });

  test('is there with an empty first page, too', async () => {
    const page = (await org.list(received())).body;
    await org.publish(named('first'));
    expect(names((await org.api.get(linkOf(page, 'resume') ?? '')).body.items)).toEqual(['first']);
  });

  test('is not in the list that is newest first', async () => {
    await org.publish(named('x'));
    expect((await org.list()).body.links.map(({ rel }) => rel)).toEqual(['self']);
  });
});

describe('the end of the order received', () => {
  test('is as many of the last events as were asked for, and a link behind everything', async () => {
    for (const index of [0, 1, 2]) await org.publish(named(`n${index}`, `200${9 - index}-01-01T00:00:00Z`));
    const page = (await org.list(received({ last: '2' }))).body;
    expect(names(page.items)).toEqual(['n1', 'n2']);
    expect(page.query).toEqual({ contextName: 'app', order: 'received', last: '2', pageSize: '50' });
    expect(page.links.map(({ rel }) => rel)).toEqual(['self', 'resume']);
    await org.publish(named('later', '1999-01-01T00:00:00Z'));
    const later = (await org.api.get(linkOf(page, 'resume') ?? '')).body;
    expect(names(later.items)).toEqual(['later']);
  });

  test('may be a link alone, also where there is nothing yet', async () => {
    const page = (await org.list(received({ last: '0', pageSize: '1' }))).body;
    expect(page.items).toEqual([]);
    await org.bulk([named('a'), named('b')]);
    const first = (await org.api.get(linkOf(page, 'resume') ?? '')).body;
    const second = (await org.api.get(linkOf(first, 'next') ?? '')).body;
    expect([names(first.items), names(second.items)]).toEqual([['a'], ['b']]);
  });

  test('is there for a resource too', async () => {
    await org.bulk([named('web'), named('other'), named('web'), named('other')]);
    const { items } = (await org.named('web', { order: 'received', last: '10' })).body;
    expect(names(items)).toEqual(['web', 'web']);
  });

  test('goes with order=received alone', async () => {
    const refusals = await Promise.all(
      [
        { last: '1' },
        { last: '1', order: 'newest' },
        received({ last: '1', page: '1' }),
        received({ last: '1', cursor: 'x' }),
        received({ last: '1001' }),
        received({ last: '-1' }),
      ].map((query) => org.list<Refusal>(query)),
    );
    expect(refusals.map((refusal) => [refusal.status, ...pointers(refusal)])).toEqual(
      refusals.map(() => [400, '?last']),
    );
  });
});
