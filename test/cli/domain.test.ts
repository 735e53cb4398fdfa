import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, newClient, openHouse, type TestHouse } from './support/org.js';
import { temporaryFolder } from './support/svc.js';

interface Domain {
  readonly name: string;
  readonly spec: { readonly dnsMode: string; readonly ports: readonly object[] };
}

const WWW = `
name: www.example.com
description: the site
tags: {team: web}
spec:
  dnsMode: ns
  certChallengeType: dns01
  ports:
    - number: 443
      routes:
        - prefix: /api
          replica: 9007199254740991
          headers: {request: {set: {X-A: "1"}}}
    - {number: 80, protocol: http}
`;

let house: TestHouse;
let client: Client;
const domain = (...args: string[]) => client.json<Domain>('domain', ...args);

beforeAll(async () => {
  house = await openHouse();
  client = await newClient(house);
  const { code, stderr } = await client.run(['domain', 'create', '--file', '-'], { input: WWW });
  expect([code, stderr]).toEqual([0, '']);
});

afterAll(() => house.close());

it('is created from YAML, with large numbers digit for digit', async () => {
  expect(await domain('get', 'www.example.com')).toMatchObject({ description: 'the site', tags: { team: 'web' } });
  const { stdout } = await client.run(['domain', 'get', 'www.example.com', '-o', 'yaml']);
  expect(stdout).toContain('replica: 9007199254740991\n');
  expect((await client.run(['domain', 'get', 'www.example.com'])).stdout).toMatch(
    /^www\.example\.com\tthe site\t\S+Z\tns\t443\/http2, 80\/http\tteam=web\n$/,
  );
});

it.each(['yaml', 'yaml-slim', 'json', 'json-slim'])('is created from what get wrote, -o %s', async (format) => {
  const file = join(temporaryFolder(), 'domain');
  writeFileSync(file, (await client.run(['domain', 'get', 'www.example.com', '-o', format])).stdout);
  const copy = await domain('create', '--file', file, '--name', `${format}.example.com`);
  const { spec } = await domain('get', 'www.example.com');
  expect(copy).toMatchObject({ name: `${format}.example.com`, tags: { team: 'web' }, spec });
});

it('is cloned', async () => {
  const { spec } = await domain('get', 'www.example.com');
  expect(await domain('clone', 'www.example.com', '--name', 'clone.example.com')).toMatchObject({
    description: 'clone.example.com',
    tags: {},
    spec,
  });
});

it('shows every fault of a file', async () => {
  const input = '{"name":"x.example.com","spec":{"dnsMode":"no","ports":[{"number":0}]}}';
  const { code, stderr } = await client.run(['domain', 'create', '--file', '-'], { input });
  expect(code).toBe(1);
  expect(stderr).toContain('spec.dnsMode: ');
  expect(stderr).toContain('spec.ports[0].number: ');
});

it('is found, tagged, changed and deleted', async () => {
  await client.run(['domain', 'create', '--file', '-', '--name', 'old.example.com'], { input: '{"spec":{}}' });
  expect(await client.names('domain', 'query', '--prop', 'spec.dnsMode=cname')).toEqual(['old.example.com']);
  expect(await domain('tag', 'old.example.com', '--tag', 'a=1')).toMatchObject({ tags: { a: '1' } });
  expect(await domain('update', 'old.example.com', '--set', 'description=d')).toMatchObject({ description: 'd' });
  const input = 'spec: {ports: [{number: 8080}]}';
  const patched = await client.run(['domain', 'patch', 'old.example.com', '-f', '-'], { input });
  expect(patched.stdout).toContain('\t8080/http2\t');
  expect(await client.names('domain', 'permissions')).toContain('manage');
  expect((await client.run(['domain', 'delete', 'old.example.com'])).code).toBe(0);
  expect(await client.names('domain', 'query', '--prop', 'name=old.example.com')).toEqual([]);
});
