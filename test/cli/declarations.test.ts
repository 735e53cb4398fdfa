import { parse, parseAllDocuments } from 'yaml';
import { answer, closeServers, scriptedServer } from './support/scripted-server.js';
import { svc } from './support/svc.js';
import { svcOnTerminal, withTerminal } from './support/terminal.js';

const HOSTILE = `a"b\\c\${d}%{e}$\${f}%%{g}$%{h}\u001b[2J\u0000\n\r\t\u2028\u202e\${`;
const RAW = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e]/;

const ASSIGNED = {
  id: '1',
  version: 3,
  created: '2024-05-01T12:00:00.000Z',
  lastModified: '2024-05-01T12:00:00.000Z',
  links: [{ rel: 'self', href: '/x' }],
};
const GROUP = {
  kind: 'group',
  ...ASSIGNED,
  name: 'devs',
  origin: 'default',
  description: 'who writes it',
  tags: { team: 'core', 'a b': '1', for: '2' },
  memberLinks: ['/org/acme/user/ann@example.com'],
  memberQuery: { kind: 'user', fetch: 'items', spec: { match: 'all', terms: [] } },
};
const USER = {
  kind: 'user',
  ...ASSIGNED,
  name: 'Ann A.',
  email: 'Ann+x@example.com',
  idp: 'invitation',
  description: 'd',
  tags: {},
};
const SERVICE_ACCOUNT = { kind: 'serviceaccount', ...ASSIGNED, name: 'ci', origin: 'default', keys: [{ id: 'k' }] };

afterEach(closeServers);

async function shown(format: string, kind: string, ...items: unknown[]): Promise<string> {
  const body = JSON.stringify({ kind: 'list', itemKind: kind, items, links: [] });
  const { url } = await scriptedServer((_, response) =>
    answer(response, 200, body.replaceAll('"@big"', '12345678901234567890123.10')),
  );
  const env = { SVC_ENDPOINT: url, SVC_ORG: 'acme', SVC_TOKEN: 'token' };
  const { code, stdout, stderr } = await svc([kind, 'get', '-o', format], { env });
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

describe('-o tf', () => {
  it('is a resource block of the members that a user chooses', async () => {
    expect(await shown('tf', 'group', GROUP)).toBe(`resource "svc_group" "devs" {
  name = "devs"
  description = "who writes it"
  tags = {
    team = "core"
    "a b" = "1"
    "for" = "2"
  }
  memberLinks = [
    "/org/acme/user/ann@example.com",
  ]
  memberQuery = {
    kind = "user"
    fetch = "items"
    spec = {
      match = "all"
      terms = []
    }
  }
}
`);
    expect(await shown('tf', 'serviceaccount', SERVICE_ACCOUNT)).toBe(`resource "svc_serviceaccount" "ci" {
  name = "ci"
}
`);
  });

  it('escapes strings so that they are no templates and no terminal sequences', async () => {
    const text = await shown('tf', 'group', { name: 'x', description: HOSTILE, tags: { [HOSTILE]: 'v' } });
    const escaped = String.raw`a\"b\\c$$${'{d}'}%%{e}\u0024$$${'{f}'}\u0025%%{g}\u0024%%{h}\u001b[2J\u0000\n\r\t\u2028\u202e$$${'{'}`;
    expect(text).toContain(`  description = "${escaped}"\n`);
    expect(text).toContain(`    "${escaped}" = "v"\n`);
    expect(text).not.toMatch(RAW);
  });

  it('labels are names of Terraform, each once, with an empty line between blocks', async () => {
    const named = (email: string) => ({ kind: 'user', name: 'n', email });
    const text = await shown('tf', 'user', named('a.b@x'), named('a_b@x'), named('1@x'), named('東京@x'));
    expect([...text.matchAll(/^resource "svc_user" "(.*)" \{$/gm)].map(([, label]) => label)).toEqual([
      'a_b_x',
      'a_b_x_2',
      '_1_x',
      '_x',
    ]);
    expect(text.split('\n\n')).toHaveLength(4);
  });

  it('numbers stay digit for digit', async () => {
    expect(await shown('tf', 'domain', { name: 'x', spec: { size: '@big' } })).toContain(
      '    size = 12345678901234567890123.10\n',
    );
    expect(await shown('crd', 'domain', { name: 'x', spec: { size: '@big' } })).toContain(
      '  size: 12345678901234567890123.10\n',
    );
  });
});

describe('-o crd', () => {
  it('is a Kubernetes document of the members that a user chooses', async () => {
    const { name: _name, description, tags, memberLinks, memberQuery } = GROUP;
    expect(parse(await shown('crd', 'group', GROUP))).toEqual({
      apiVersion: 'control.svc.dev/v1',
      kind: 'group',
      metadata: { name: 'devs' },
      spec: { description, tags, memberLinks, memberQuery },
    });
    expect(parse(await shown('crd', 'domain', { name: 'www.x', description: 'd', spec: { dnsMode: 'ns' } }))).toEqual({
      apiVersion: 'control.svc.dev/v1',
      kind: 'domain',
      metadata: { name: 'www.x' },
      spec: { description: 'd', dnsMode: 'ns' },
    });
  });

  it('of a user has a name that Kubernetes takes, and the address in its specification', async () => {
    expect(parse(await shown('crd', 'user', USER))).toMatchObject({
      metadata: { name: 'ann-x-at-example.com' },
      spec: { name: 'Ann A.', email: 'Ann+x@example.com' },
    });
  });

  it('of a list is one document each, their names distinct', async () => {
    const documents = parseAllDocuments(
      await shown(
        'crd',
        'user',
        USER,
        { ...USER, email: 'ann.x@example.com' },
        { ...USER, email: 'ann-x@example.com' },
      ),
    );
    const names = documents.map((one) => (one.toJS() as { metadata: { name: string } }).metadata.name);
    expect(names).toEqual(['ann-x-at-example.com', 'ann.x-at-example.com', 'ann-x-at-example.com-2']);
  });

  it('keeps hostile strings, and prints none of them raw', async () => {
    const text = await shown('crd', 'group', { name: 'x', description: HOSTILE, tags: { [HOSTILE]: HOSTILE } });
    expect(text).not.toMatch(RAW);
    expect(parse(text)).toMatchObject({ spec: { description: HOSTILE, tags: { [HOSTILE]: HOSTILE } } });
  });
});

withTerminal('text on a terminal aligns by display cells', async () => {
  const group = (name: string, description: string) => ({ ...GROUP, name, description, tags: {} });
  const items = [group('東京', 'a'), group('g', '👩‍👩‍👧 x'), group('grp', 'éé')];
  const body = JSON.stringify({ kind: 'list', itemKind: 'group', items, links: [] });
  const { url } = await scriptedServer((_, response) => answer(response, 200, body));
  const env = { SVC_ENDPOINT: url, SVC_ORG: 'acme', SVC_TOKEN: 'token', NO_COLOR: '1' };
  const [, ...rows] = (await svcOnTerminal('group get --ts iso', env)).split('\n');
  const start = '2024-05-01T12:00:00.000Z  links,query  default  -';
  expect(rows.slice(0, 3)).toEqual([
    `東京  a            ${start}`,
    `g     👩‍👩‍👧 x         ${start}`,
    `grp   éé           ${start}`,
  ]);
});
