import { answer, closeServers, scriptedServer } from '../support/scripted-server.js';
import { svc } from '../support/svc.js';

afterEach(closeServers);

const FORMATS = ['text', 'json', 'yaml', 'json-slim', 'yaml-slim', 'tf', 'crd', 'names'] as const;

/** Lists without an end: each page names a next one. */
async function endless() {
  const server = await scriptedServer(({ url }, response, index) => {
    const [, kind = ''] = /\/org\/acme\/(\w+)/.exec(url) ?? [];
    const items = Array.from({ length: 500 }, (_, n) => ({
      ...{ kind, id: `id-${index}-${n}`, name: `name-${index}-${n}`, email: `user-${index}-${n}@example.com` },
      ...{ description: 'd'.repeat(200), tags: {}, created: '2024-05-01T12:00:00.000Z', memberLinks: [] },
    }));
    const links = [{ rel: 'next', href: `/org/acme/${kind}?cursor=${index + 1}` }];
    answer(response, 200, { kind: 'list', itemKind: kind, items, links });
  });
  return { server, env: { SVC_ENDPOINT: server.url, SVC_ORG: 'acme', SVC_TOKEN: 'token' } };
}

describe('a reader that goes away is no error, and no more pages are read', () => {
  it.each(FORMATS)('-o %s', async (format) => {
    const { server, env } = await endless();
    const { code, stderr } = await svc(['user', 'get', '--max', '0', '-o', format], { env, closeAfter: 1 });
    expect([code, stderr]).toEqual([0, '']);
    expect(server.seen.length).toBeLessThan(20);
  });

  it('of a query', async () => {
    const { server, env } = await endless();
    const { code, stderr } = await svc(['group', 'query', '--max', '0'], { env, closeAfter: 1 });
    expect([code, stderr]).toEqual([0, '']);
    expect(server.seen.length).toBeLessThan(20);
  });
});
