import { FAMILIES, familyOf } from '../../src/cli/commands/families.js';
import { type Kind, kindOf } from '../../src/contract/kinds.js';
import { answer, closeServers, scriptedServer } from './support/scripted-server.js';
import { svcInProcess } from './support/svc-in-process.js';

const { name: _name, summary: _summary, ...domain } = kindOf('domain');
const GADGET: Kind = {
  ...{ ...domain, name: 'gadget', noun: 'gadget', plural: 'gadgets', example: 'lamp', copy: 'lamp2' },
  columns: [
    { header: 'NAME', member: 'name' },
    { header: 'WATTS', member: 'spec.watts' },
    { header: 'PARTS', member: 'parts', as: 'count' },
  ],
};
const LAMP = { kind: 'gadget', id: '1', name: 'lamp', version: 3, tags: {}, spec: { watts: 5 }, parts: ['a', 'b'] };

async function service() {
  return scriptedServer(({ method, url, body }, response) => {
    if (method === 'DELETE') return answer(response, 204, '');
    if (url.includes('-schema/permissions')) return answer(response, 200, { items: [{ name: 'view' }] });
    if (/-query|-eventlog|\/gadget\?/.test(url)) return answer(response, 200, { items: [LAMP], links: [] });
    answer(response, 200, method === 'GET' ? LAMP : { ...LAMP, ...(JSON.parse(body) as object) });
  });
}

/** `svc` with one more kind than it has. */
function svc(url: string, ...args: string[]) {
  const families = new Map([...FAMILIES, [GADGET.name, familyOf(GADGET)]]);
  const connection = ['--endpoint', url, '--org', 'acme', '--token', 'secret'];
  return svcInProcess([...args, ...(args.includes('--help') ? [] : connection)], { families });
}

describe('a kind that svc is given the description of', () => {
  afterEach(closeServers);

  it('has every verb', async () => {
    const { stdout } = await svc('', 'gadget', '--help');
    const verbs = [...stdout.matchAll(/^ {2}gadget (\S+)/gm)].map(([, verb]) => verb);
    const written = 'access-report clone create delete edit eventlog get patch permissions query tag update';
    expect(verbs).toEqual(written.split(' '));
    expect((await svc('', '--help')).stdout).toContain('  gadget      manage gadgets\n');
    expect((await svc('', 'gadget', 'get', '--help')).stdout).toContain('show gadgets: the named ones, or all');
  });

  it.each([
    [['get'], 'GET /org/acme/gadget?limit=50', ''],
    [['get', 'lamp'], 'GET /org/acme/gadget/lamp', ''],
    [['create', '--name', 'lamp'], 'POST /org/acme/gadget', '{"name":"lamp"}'],
    [['update', 'lamp', '--set', 'tags.a=b'], 'PATCH /org/acme/gadget/lamp', '{"tags":{"a":"b"}}'],
    [['tag', 'lamp', '--remove', 'a'], 'PATCH /org/acme/gadget/lamp', '{"tags":{"a":null}}'],
    [['query', '--tag', 'a=b'], 'POST /org/acme/gadget/-query?limit=50', expect.stringContaining('"kind":"gadget"')],
  ])('%j', async (args, request, body) => {
    const { url, seen } = await service();
    expect(await svc(url, 'gadget', ...args)).toEqual({ code: 0, stdout: 'lamp\t5\t2\n', stderr: '' });
    expect(seen.map(({ method, url, body }) => [`${method} ${url}`, body])).toEqual([[request, body]]);
  });

  it('is cloned, deleted, declared, and has permissions and an event log', async () => {
    const { url, seen } = await service();
    expect((await svc(url, 'gadget', 'clone', 'lamp', '--name', 'lamp2', '-o', 'names')).stdout).toBe('lamp2\n');
    expect(JSON.parse(seen[1]?.body ?? '')).toEqual({ name: 'lamp2', spec: LAMP.spec, parts: LAMP.parts });
    expect((await svc(url, 'gadget', 'delete', 'lamp')).stderr).toBe('deleted lamp\n');
    expect((await svc(url, 'gadget', 'get', '-o', 'tf')).stdout).toContain('resource "svc_gadget" "lamp" {');
    expect((await svc(url, 'gadget', 'permissions', '-o', 'names')).stdout).toBe('view\n');
    expect((await svc(url, 'gadget', 'eventlog', 'lamp', '-o', 'names')).stdout).toBe('1\n');
  });
});
