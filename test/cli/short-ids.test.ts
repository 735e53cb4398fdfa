import { type Client, newClient, openHouse, type TestHouse } from './support/org.js';
import { answer, closeServers, page, scriptedServer } from './support/scripted-server.js';
import { svc } from './support/svc.js';
import { svcOnTerminal, withTerminal } from './support/terminal.js';

let house: TestHouse;
let client: Client;
let ids: string[];

beforeAll(async () => {
  house = await openHouse();
  client = await newClient(house);
  const items = Array.from({ length: 5 }, (_, at) => ({ resource: { name: `web-${at}` } }));
  await client.org.bulk(items, { context: 'app' });
  ids = await client.names('audit', 'list', '--context', 'app');
});
afterAll(() => house.close());
afterEach(closeServers);

describe('a short identifier', () => {
  it.each([8, 10, 12])('of %d digits names one event wherever an event is named', async (digits) => {
    for (const id of ids) {
      const { item } = await client.json<{ item: { id: string } }>('audit', 'get', id.slice(-digits));
      expect(item.id).toBe(id);
    }
    const capitals = (ids[0] ?? '').slice(-digits).toUpperCase();
    expect(await client.names('audit', 'get', capitals, ids[1] ?? '')).toEqual(ids.slice(0, 2));
  });

  it('that no event has is said', async () => {
    const { code, stderr } = await client.run(['audit', 'get', '00000000']);
    expect([code, stderr]).toEqual([1, "error: no event's identifier ends with 00000000\n  see `svc audit list`\n"]);
  });

  it('that several have is an error that names them', async () => {
    const events = ['01890a5d-ac96-774b-bcce-b302099a8057', '01890a5d-ac97-774b-bcce-b402099a8057'].map((id, at) => ({
      ...{ id, eventTime: '2024-05-02T00:00:00.000Z', action: { type: 'edit' }, resource: { name: `web\u001b${at}` } },
    }));
    const { url } = await scriptedServer((_, response) => answer(response, 200, page(events)));
    const env = { SVC_ENDPOINT: url, SVC_ORG: 'acme', SVC_TOKEN: 'token' };
    const { code, stderr } = await svc(['audit', 'get', '099a8057'], { env });
    expect([code, stderr.split('\n')]).toEqual([
      1,
      [
        'error: several events end with 099a8057; give more of it',
        '  b302099a8057  01890a5d-ac96-774b-bcce-b302099a8057  2024-05-02T00:00:00.000Z  edit web\\u001b0',
        '  b402099a8057  01890a5d-ac97-774b-bcce-b402099a8057  2024-05-02T00:00:00.000Z  edit web\\u001b1',
        '',
      ],
    ]);
  });

  withTerminal('stands in lists on a terminal, and the whole one with --wide and in a pipe', async () => {
    const [id = ''] = ids;
    const list = (more = '') => svcOnTerminal(`audit list --context app ${more}`, { ...client.env, NO_COLOR: '1' });
    const short = await list();
    expect(short).toContain(id.slice(-8));
    expect(short).not.toContain(id);
    expect(await list('--wide')).toContain(id);
    expect((await client.run(['audit', 'list', '--context', 'app'])).stdout).toContain(id);
  });

  withTerminal('is longer where two that are shown together end alike', async () => {
    const events = ['01890a5d-ac96-774b-bcce-b302099a8057', '01890a5d-ac97-774b-bcce-b402099a8057'].map((id) => ({
      id,
    }));
    const { url } = await scriptedServer((_, response) => answer(response, 200, page(events)));
    const screen = await svcOnTerminal('audit list', { SVC_ENDPOINT: url, SVC_ORG: 'acme', SVC_TOKEN: 'token' });
    expect(screen.match(/\bb[34]02099a8057\b/g)).toEqual(['b302099a8057', 'b402099a8057']);
  });
});
