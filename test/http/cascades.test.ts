import { newOrg } from '../support/api.js';
import { Resources } from '../support/resources.js';
import { startService, type TestService } from '../support/service.js';

/** So many policies, of so much text each, are more than one record of the log holds. */
const POLICIES = 5;
const ACCOUNTS = 60;
const BINDINGS = 40;

let service: TestService;

beforeAll(async () => {
  service = await startService();
});

afterAll(() => service.remove());

const account = (n: number) => `robot-${n}-`.padEnd(63, 'x');
const policy = (n: number) => `policy-${n}`;

/** An organization with policies that name a group and many accounts again and again. */
async function crowdedOrg() {
  const org = await newOrg(service);
  const policies = new Resources(org, 'policy');
  const accounts = new Resources(org, 'serviceaccount');
  const groups = new Resources(org, 'group');
  for (let n = 0; n < ACCOUNTS; n += 1) await accounts.create({ name: account(n) });
  await groups.create({ name: 'crew' });
  const robots = Array.from({ length: ACCOUNTS }, (_, n) => accounts.at(account(n)));
  const binding = { permissions: ['view'], principalLinks: [groups.at('crew'), ...robots] };
  for (let n = 0; n < POLICIES; n += 1) {
    const document = { targetKind: 'group', target: 'all', bindings: Array(BINDINGS).fill(binding) };
    expect((await policies.create({ name: policy(n), ...document })).status).toBe(201);
  }
  return { policies, accounts, groups };
}

test.each([
  ['service account', 'accounts', account(0)],
  ['group', 'groups', 'crew'],
] as const)(
  'deleting a %s that too many large policies name is refused whole, with what to do',
  async (_, kind, name) => {
    const { policies, [kind]: resources } = await crowdedOrg();
    const refused = await resources.delete(name);

    expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
    expect(refused.body.details).toEqual({ resources: POLICIES + 1 });
    expect(refused.body.message).toMatch(/nothing was changed.*a few at a time/);
    expect((await resources.get(name)).status).toBe(200);
    expect((await policies.list()).body.items.map(({ version }) => version)).not.toContain(2);

    for (const n of [0, 1]) expect((await policies.patch(policy(n), { bindings: [] })).status).toBe(200);
    expect((await resources.delete(name)).status).toBe(204);
    expect((await policies.list()).text).not.toContain(`${resources.at(name)}"`);
  },
);
