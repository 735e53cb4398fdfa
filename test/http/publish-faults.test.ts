import { newOrg, type Org, pointers, type Refusal, type Sent } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';

let service: TestService;
let org: Org;

beforeAll(async () => {
  service = await startService();
  org = await newOrg(service);
});

afterAll(() => service.remove());

async function faultsOf(event: Sent): Promise<string[]> {
  const answer = await org.publish<Refusal>(event);
  expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
  return pointers(answer);
}

const resource = { name: 'x' };

describe('an event is refused, naming the place, with', () => {
  test.each<[string, Sent, string[]]>([
    ['no resource', {}, ['/resource']],
    ['a resource of null', { resource: null }, ['/resource']],
    ['a resource that is a string', { resource: 'web' }, ['/resource']],
    ['a resource that is an array', { resource: [resource] }, ['/resource']],
    ['a resource with neither id nor name', { resource: { type: 'workload' } }, ['/resource']],
    ['a resource with an empty id and an empty name', { resource: { id: '', name: '' } }, ['/resource']],
    ['a resource whose id is a number', { resource: { id: 7, name: 'x' } }, ['/resource/id']],
    ['an unknown field', { resource, source: 'x' }, ['/source']],
    ['a publisher that is no object', { resource, context: { publisher: 'ann' } }, ['/context/publisher']],
    ['a publisher with an unknown field', { resource, context: { publisher: { ip: 'x' } } }, ['/context/publisher/ip']],
    [
      'a publisher whose link is no text',
      { resource, context: { publisher: { link: 1 } } },
      ['/context/publisher/link'],
    ],
    ['an unknown field further down', { resource, context: { region: 'x' } }, ['/context/region']],
    ['an unknown field with a slash and a tilde in its name', { resource, 'a/b~c': 1 }, ['/a~1b~0c']],
    ['an unknown field named like a method', { resource, toString: 'x' }, ['/toString']],
    ['an unknown field named constructor', { resource, subject: { constructor: 'x' } }, ['/subject/constructor']],
    ['an array for free-form data', { resource, subject: { claims: [] } }, ['/subject/claims']],
    ['a text for free-form data', { resource: { name: 'x', data: '{}' } }, ['/resource/data']],
    ['a boolean for a text', { resource, result: { status: true } }, ['/result/status']],
    ['an array for an object', { resource, context: [] }, ['/context']],
    ['an array in its place', [], ['']],
    ['null in its place', null, ['']],
    ['a text in its place', JSON.stringify('event'), ['']],
  ])('%s', async (_what, event, places) => {
    expect(await faultsOf(event)).toEqual(places);
  });

  test('all its faults at once', async () => {
    const event = {
      resource: { name: 5, extra: 1 },
      eventTime: 'yesterday',
      requestId: {},
      subject: { email: 1 },
      action: 'edit',
      nonsense: 1,
    };
    expect(await faultsOf(event)).toEqual([
      '/action',
      '/eventTime',
      '/nonsense',
      '/requestId',
      '/resource/extra',
      '/resource/name',
      '/subject/email',
    ]);
  });

  test('a fault told in a sentence when it is the only one', async () => {
    const { body } = await org.publish<Refusal>({ resource, nonsense: 1 });
    expect(body.message).toContain('/nonsense');
    expect(body.details.fields).toEqual([
      { pointer: '/nonsense', reason: expect.stringContaining('not a known field') },
    ]);
  });

  test('a future time and a wrong type together', async () => {
    expect(await faultsOf({ resource, eventTime: '2999-01-01T00:00:00Z', result: 1 })).toEqual([
      '/eventTime',
      '/result',
    ]);
  });
});

describe('the naming fields of a resource', () => {
  test.each(['\u0000', '\n', '\u001f', '\u007f', '\u0085', '\u009f'])(
    'may not have the control character %j',
    async (char) => {
      const event = { resource: { id: `a${char}`, name: `b${char}`, type: `c${char}` } };
      expect(await faultsOf(event)).toEqual(['/resource/id', '/resource/name', '/resource/type']);
    },
  );

  test.each([' ', '\u00a0', '\u200d', '\u2028', '\ufeff', '\u{e0001}'])('may have %j', async (char) => {
    expect((await org.publish({ resource: { name: `a${char}b` } })).status).toBe(201);
  });

  test('may leave the name empty when there is an id', async () => {
    expect((await org.publish({ resource: { id: 'x', name: '' } })).status).toBe(201);
  });
});

/** Every text that lists filter by: at most 1,024 characters. */
const FILTERABLE: [string, (text: string) => Sent][] = [
  ['/resource/id', (text) => ({ resource: { id: text } })],
  ['/resource/name', (text) => ({ resource: { name: text } })],
  ['/resource/type', (text) => ({ resource: { name: 'x', type: text } })],
  ['/requestId', (text) => ({ resource, requestId: text })],
  ['/context/location', (text) => ({ resource, context: { location: text } })],
  ['/context/gvcAlias', (text) => ({ resource, context: { gvcAlias: text } })],
  ['/context/podId', (text) => ({ resource, context: { podId: text } })],
  ['/subject/email', (text) => ({ resource, subject: { email: text } })],
  ['/action/type', (text) => ({ resource, action: { type: text } })],
  ['/result/status', (text) => ({ resource, result: { status: text } })],
];

describe.each(FILTERABLE)('%s', (pointer, eventWith) => {
  test.each(['a', 'ß', '😀'])('takes 1,024 characters %s', async (char) => {
    expect((await org.publish(eventWith(char.repeat(1024)))).status).toBe(201);
  });

  test.each(['a', 'ß', '😀'])('refuses 1,025 characters %s', async (char) => {
    expect(await faultsOf(eventWith(char.repeat(1025)))).toEqual([pointer]);
  });
});

test('texts that no list filters by may be longer', async () => {
  const long = 'm'.repeat(5_000);
  const event = await org.published({ resource, result: { message: long }, subject: { name: long } });
  expect([event.result?.['message'], event.subject['name']]).toEqual([long, long]);
});
