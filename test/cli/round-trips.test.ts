import { parseAllDocuments } from 'yaml';
import { type Resource, Resources } from '../support/resources.js';
import { parseTerraform } from './support/hcl.js';
import { Live } from './support/live.js';
import { PAYLOADS, SYNTAX } from './support/payloads.js';

const KINDS = ['user', 'group', 'serviceaccount', 'policy', 'domain'] as const;
type Kind = (typeof KINDS)[number];
const DOCUMENTS = ['json', 'yaml', 'json-slim', 'yaml-slim'];

/** Text that every format must carry: what the service takes of characters that mean something somewhere. */
const HOSTILE = [...SYNTAX, ...PAYLOADS.slice(0, 20)].map((text) => `x${text}y`);
const described = {
  description: HOSTILE.join('|').slice(0, 249).trim(),
  tags: Object.fromEntries(HOSTILE.slice(0, 45).map((text, index) => [`${index}${text}`, text])),
};

let live: Live;
const made = new Map<Kind, { readonly ref: string; readonly at: Resources }>();

async function make(kind: Exclude<Kind, 'user'>, body: object): Promise<void> {
  const at = new Resources(live.org, kind);
  const { status, body: resource, text } = await at.create({ ...described, ...body });
  if (status !== 201) throw new Error(`${kind}: ${status} ${text}`);
  made.set(kind, { ref: resource.name, at });
}

beforeAll(async () => {
  live = await Live.start();
  const user = await live.user({ name: `Zoë \${x} %{y} "z" \\ 東京`, ...described });
  made.set('user', { ref: user.email, at: new Resources(live.org, 'user') });
  await make('serviceaccount', { name: 'robot' });
  const robot = `/org/${live.org.name}/serviceaccount/robot`;
  const terms = HOSTILE.slice(0, 30).map((value) => ({ op: '=', property: 'name', value }));
  const memberQuery = { kind: 'user', fetch: 'items', spec: { match: 'any', terms } };
  await make('group', { name: 'crew', memberLinks: [robot, live.link(user)], memberQuery });
  const bindings = [{ permissions: ['view', 'edit'], principalLinks: [robot, live.link(user)] }];
  const targetLinks = [`/org/${live.org.name}/group/crew`];
  await make('policy', { name: 'editors', targetKind: 'group', targetLinks, bindings });
  await make('domain', { name: 'shop.example.com', spec: SPEC });
});
afterAll(() => live.remove());

const header = { request: { set: { 'x-template': `\${path.module} %{ if } "q" \\ é`, 'x-number': '0123' } } };
const SPEC = {
  dnsMode: 'cname',
  gvcLink: '//gvc/main',
  workloadLink: '//gvc/main/workload/web',
  certChallengeType: 'http01',
  acceptAllHosts: false,
  acceptAllSubdomains: true,
  ports: [
    {
      number: 443,
      protocol: 'http2',
      routes: [
        { prefix: `/a b/\${c}`, replacePrefix: '/', hostPrefix: 'www.', port: 8080, replica: 0, headers: header },
        { regex: '^/v[0-9]+/.*$', hostRegex: '^(a|b)\\.example\\.com$', workloadLink: '//gvc/main/workload/api' },
      ],
      cors: {
        allowOrigins: [{ exact: 'https://example.com' }, { regex: '^https://.*\\.example\\.com$' }],
        ...{ allowMethods: ['GET', 'PUT'], allowHeaders: ['x-a'], exposeHeaders: ['x-b'], maxAge: '24h' },
        allowCredentials: true,
      },
      tls: {
        minProtocolVersion: 'TLSV1_2',
        cipherSuites: ['ECDHE-ECDSA-AES256-GCM-SHA384', 'AES128-GCM-SHA256'],
        clientCertificate: { secretLink: '//secret/client' },
        serverCertificate: { secretLink: '//secret/server' },
      },
    },
  ],
};

const of = (kind: Kind) => {
  const found = made.get(kind);
  if (!found) throw new Error(`no ${kind}`);
  return found;
};

describe.each(KINDS)('svc %s get', (kind) => {
  it.each(DOCUMENTS)('-o %s is accepted by patch and changes nothing', async (format) => {
    const { ref, at } = of(kind);
    const before = (await at.get(ref)).body;
    const text = await live.out([kind, 'get', ref, '-o', format]);
    await live.out([kind, 'patch', ref, '--file', '-'], { input: text });
    expect((await at.get(ref)).body).toEqual(before);
  });

  it('changes exactly what was edited in it', async () => {
    const { ref, at } = of(kind);
    const before = (await at.get(ref)).body;
    const text = await live.out([kind, 'get', ref, '-o', 'json']);
    const input = JSON.stringify({ ...JSON.parse(text), description: 'changed' });
    await live.out([kind, 'patch', ref, '--file', '-'], { input });
    const { version, lastModified, ...after } = (await at.get(ref)).body;
    const { version: first, lastModified: _lastModified, ...rest } = before;
    expect([after, version]).toEqual([{ ...rest, description: 'changed' }, first + 1]);
    expect(lastModified >= before.lastModified).toBe(true);
    await at.patch(ref, { description: described.description });
  });

  it('-o json is refused after another change', async () => {
    const { ref, at } = of(kind);
    const text = await live.out([kind, 'get', ref, '-o', 'json']);
    await at.patch(ref, { tags: { between: 'x' } });
    const { code, stderr } = await live.svc([kind, 'patch', ref, '--file', '-'], { input: text });
    expect([code, stderr]).toEqual([1, expect.stringContaining('precondition_failed')]);
    await at.patch(ref, { tags: { between: null } });
  });

  it('-o tf is valid Terraform', async () => {
    const { ref, at } = of(kind);
    const blocks = await parseTerraform(await live.out([kind, 'get', ref, '-o', 'tf']));
    const expected = wanted((await at.get(ref)).body);
    expect(blocks).toEqual([
      { type: `svc_${kind}`, label: expect.stringMatching(/^[A-Za-z_][\w-]*$/), values: expected },
    ]);
  });

  it('-o crd is valid Kubernetes', async () => {
    const { ref, at } = of(kind);
    const [document, ...more] = parseAllDocuments(await live.out([kind, 'get', ref, '-o', 'crd']));
    expect([document?.errors, more]).toEqual([[], []]);
    const { name, spec = {}, ...rest } = wanted((await at.get(ref)).body) as { name: string; spec?: object };
    expect(document?.toJS()).toEqual({
      apiVersion: 'control.svc.dev/v1',
      kind,
      metadata: { name: expect.stringMatching(/^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/) },
      spec: { ...rest, ...spec, ...(kind === 'user' && { name }) },
    });
  });
});

describe.each(['group', 'domain'] as const)('svc %s create --file', (kind) => {
  it.each(DOCUMENTS)('creates a second resource from what get -o %s wrote', async (format) => {
    const { ref, at } = of(kind);
    const before = (await at.get(ref)).body;
    const name = kind === 'group' ? live.name('copy') : `${live.name('copy')}.example.com`;
    const text = await live.out([kind, 'get', ref, '-o', format]);
    await live.out([kind, 'create', '--file', '-', '--name', name], { input: text });
    expect(wanted((await at.get(name)).body)).toEqual({ ...wanted(before), name });
  });

  it('restores it after a deletion', async () => {
    const { ref, at } = of(kind);
    const before = (await at.get(ref)).body;
    const text = await live.out([kind, 'get', ref, '-o', 'yaml']);
    await live.out([kind, 'delete', ref]);
    await live.out([kind, 'create', '-f', '-'], { input: text });
    expect(wanted((await at.get(ref)).body)).toEqual(wanted(before));
  });
});

/** What a resource is to be, without what the service says of it. */
function wanted(resource: Resource): Record<string, unknown> {
  const assigned = ['kind', 'id', 'version', 'created', 'lastModified', 'links', 'status', 'origin', 'idp', 'keys'];
  return Object.fromEntries(Object.entries(resource).filter(([name]) => !assigned.includes(name)));
}
