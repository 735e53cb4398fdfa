import 'reflect-metadata';
import { IsIn } from 'class-validator';
import { KINDS, type Kind } from '../../src/contract/kinds.js';
import type { ResourceDocument } from '../../src/model/resource-kind.js';
import type { Resources as ResourcesOf } from '../support/resources.js';

/** A kind that this file alone adds, to the two lists that all else is derived from when it is loaded. */
const GADGET: Kind = {
  name: 'gadget',
  schema: 'Gadget',
  noun: 'gadget',
  plural: 'gadgets',
  example: 'lamp',
  ref: 'name',
  unique: 'organization',
  operations: ['create', 'list', 'get', 'edit', 'delete', 'query', 'eventlog', 'accessreport', 'permissions'],
  permissions: ['view', 'create', 'edit', 'delete', 'manage'],
  assigned: [],
  shown: [],
  builtin: [],
  quota: { setting: 'CONTROL_QUOTA_GADGETS', usual: 2 },
  says: {},
  columns: [
    { header: 'NAME', member: 'name' },
    { header: 'COLOUR', member: 'colour' },
  ],
};
(KINDS as unknown as Kind[]).push(GADGET);
const { RESOURCE_KINDS } = await import('../../src/kinds/kinds.js');
const { completeDescribed, shaped } = await import('../../src/kinds/shaped-kind.js');
const { DescribedDto } = await import('../../src/shapes/resource.js');
const { IsName, Optional } = await import('../../src/shapes/shape.js');

class GadgetDto extends DescribedDto {
  @Optional() @IsIn(['red', 'blue']) colour?: string;
}
class CreateGadgetDto extends GadgetDto {
  @IsName() name!: string;
}
RESOURCE_KINDS.push({
  kind: GADGET,
  ...shaped(GadgetDto, CreateGadgetDto),
  complete: ({ colour = 'red', ...rest }: GadgetDto, name): ResourceDocument & { readonly colour: string } => ({
    ...completeDescribed(rest, name),
    colour,
  }),
  gives: [],
});

const { schemas } = await import('../../src/http/answers/schemas.js');
const { Api, newOrg } = await import('../support/api.js');
const { Resources } = await import('../support/resources.js');
const { svcInProcess } = await import('../cli/support/svc-in-process.js');
const { startService } = await import('../support/service.js');

let service: Awaited<ReturnType<typeof startService>>;
let org: Awaited<ReturnType<typeof newOrg>>;
let gadgets: ResourcesOf;

beforeAll(async () => {
  service = await startService();
  org = await newOrg(service);
  gadgets = new Resources(org, 'gadget');
});

afterAll(() => service.remove());

it('is created, read, found, changed and deleted, and all of it is in its event log', async () => {
  const made = await gadgets.create({ name: 'lamp', tags: { room: 'hall' } });
  expect([made.status, made.headers.get('location')]).toEqual([201, `/org/${org.name}/gadget/lamp`]);
  expect(made.body).toMatchObject({ kind: 'gadget', name: 'lamp', description: 'lamp', colour: 'red', version: 1 });
  expect((await gadgets.create({ name: 'lamp' })).body.message).toBe('a gadget named lamp exists');
  expect((await gadgets.create({ name: 'fan', colour: 'green' })).body.details.fields).toEqual([
    { pointer: '/colour', reason: 'must be one of red, blue' },
  ]);
  const patched = await gadgets.patch('lamp', { colour: 'blue', tags: { room: null } }, { 'if-match': '"1"' });
  expect(patched.body).toMatchObject({ colour: 'blue', tags: {}, version: 2 });
  expect((await gadgets.patch('lamp', { colour: 'red' }, { 'if-match': '"1"' })).status).toBe(412);
  const terms = [{ property: 'colour', value: 'blue' }];
  expect((await gadgets.query({ kind: 'gadget', spec: { terms } })).body.items).toEqual([patched.body]);
  expect((await gadgets.put('lamp', { ...patched.body, colour: undefined })).body).toMatchObject({ colour: 'red' });
  expect((await gadgets.list()).body.items).toEqual([(await gadgets.get('lamp')).body]);
  expect((await gadgets.delete('lamp')).status).toBe(204);
  expect((await gadgets.get('lamp')).body.code).toBe('not_found');
  const { items } = (await org.api.get(`${gadgets.at('lamp')}/-eventlog`)).body;
  expect(items.map(({ action }) => action?.type)).toEqual(['delete', 'edit', 'edit', 'create']);
});

it('is what policies grant permissions on, and no more of it than the quota', async () => {
  for (const name of ['fan', 'radio']) await gadgets.create({ name });
  expect((await gadgets.create({ name: 'bell' })).body.message).toContain('CONTROL_QUOTA_GADGETS');
  await new Resources(org, 'serviceaccount').create({ name: 'robot' });
  const keys = `/org/${org.name}/serviceaccount/robot/-addKey`;
  const issued = await org.api.post<{ readonly key: string }>(keys, { description: 'x' });
  const robot = new Api(service.url, issued.body.key);
  expect((await robot.get(gadgets.at('fan'))).status).toBe(403);
  const link = (kind: string, ref: string) => `/org/${org.name}/${kind}/${ref}`;
  const bindings = [{ permissions: ['edit'], principalLinks: [link('serviceaccount', 'robot')] }];
  const policy = { name: 'menders', targetKind: 'gadget', targetLinks: [link('gadget', 'fan')], bindings };
  expect((await new Resources(org, 'policy').create(policy)).status).toBe(201);
  expect((await robot.get(gadgets.at('fan'))).status).toBe(200);
  expect((await robot.get(gadgets.at('radio'))).status).toBe(403);
  expect((await robot.send('DELETE', gadgets.at('fan'))).status).toBe(403);
  expect((await org.api.get(`${gadgets.at('fan')}/-accessreport`)).text).toContain('serviceaccount/robot');
  expect((await org.api.get(`${gadgets.path}/-schema/permissions`)).body).toMatchObject({ targetKind: 'gadget' });
  await gadgets.delete('fan');
  expect((await new Resources(org, 'policy').get('menders')).body).toMatchObject({ targetLinks: [] });
  expect(schemas()).toMatchObject({ GadgetPatch: { properties: { colour: { enum: ['red', 'blue', null] } } } });
});

it('has its verbs in svc', async () => {
  const connection = ['--endpoint', service.url, '--org', org.name, '--token', org.key];
  const patch = ['gadget', 'patch', 'radio', '-f', '-', ...connection];
  expect(await svcInProcess(patch, { input: '{"colour":"blue"}' })).toMatchObject({ code: 0, stderr: '' });
  expect((await svcInProcess(['gadget', 'get', ...connection])).stdout).toMatch(/radio\tblue/);
});
