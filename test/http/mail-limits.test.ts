import { Api, Org, type OrgBody } from '../support/api.js';
import { type Invited, type Mailbox, openMailbox } from '../support/mail.js';
import { startService, type TestService } from '../support/service.js';

let mailbox: Mailbox;
let service: TestService | undefined;
let orgs: number;

beforeEach(async () => {
  orgs = 0;
  mailbox = await openMailbox();
});
afterEach(async () => {
  await service?.remove();
  service = undefined;
  await mailbox.close();
});

const env = (limits: Readonly<Record<string, string>>) => ({
  ...mailbox.env,
  // Absent, and so the defaults.
  CONTROL_MAIL_PER_ADDRESS: '',
  CONTROL_MAIL_PER_ORG: '',
  ...limits,
});

async function newOrg(running: TestService): Promise<Org> {
  orgs += 1;
  const name = `org-${orgs}`;
  const { body } = await new Api(running.url, running.rootKey).post<OrgBody>('/org', { name });
  return new Org(running.url, name, body.key);
}

const invite = ({ api, name }: Org, emails: readonly string[], headers = {}) =>
  api.post<Invited>(`/org/${name}/user/-invite`, { emails }, headers);

async function invited({ api, name }: Org): Promise<string[]> {
  const { body } = await api.get<{ items: { email: string }[] }>(`/org/${name}/invitation`);
  return body.items.map(({ email }) => email);
}

test('an address gets five letters a day from all senders; the next is neither sent nor recorded', async () => {
  service = await startService({ env: env({}) });
  const [acme, globex] = [await newOrg(service), await newOrg(service)];
  for (const org of [acme, globex, acme, globex, acme]) {
    expect((await invite(org, ['Ann@example.com'])).body.errors).toEqual({});
  }
  const { status, body } = await invite(globex, ['ann@example.com', 'bob@example.com']);
  expect(status).toBe(200);
  expect(Object.keys(body.invitations)).toEqual(['bob@example.com']);
  const refusal = body.errors['ann@example.com'];
  expect(refusal).toMatchObject({ status: 429, code: 'rate_limited' });
  expect(refusal?.message).toMatch(/^ann@example\.com was sent as many letters as it may be; invite again in \d+ s$/);
  expect(Number(refusal?.details['retryAfterSeconds'])).toBeGreaterThan(23 * 60 * 60);
  expect(mailbox.mails).toHaveLength(6);
  expect(await invited(globex)).toEqual(['ann@example.com', 'bob@example.com']);
  // The letter before still counts: its invitation was not replaced.
  const dataDir = service.dataDir;
  await service.stop();
  service = await startService({ dataDir, env: env({}) });
  const again = await invite(new Org(service.url, globex.name, globex.key), ['ann@example.com']);
  expect(again.body.errors['ann@example.com']).toMatchObject({ code: 'rate_limited' });
  expect(mailbox.mails).toHaveLength(6);
});

test('an organization sends so many letters an hour, and does not use up those of others', async () => {
  service = await startService({ env: env({ CONTROL_MAIL_PER_ORG: '3' }) });
  const [acme, globex] = [await newOrg(service), await newOrg(service)];
  const emails = ['a@x.example', 'b@x.example', 'c@x.example', 'd@x.example', 'e@x.example'];
  const { body } = await invite(acme, emails);
  expect(Object.keys(body.invitations)).toEqual(emails.slice(0, 3));
  expect(Object.keys(body.errors)).toEqual(emails.slice(3));
  expect(body.errors['d@x.example']).toMatchObject({
    code: 'rate_limited',
    message: expect.stringContaining('the organization has sent as many letters as it may be'),
  });
  expect((await invited(acme)).sort()).toEqual(emails.slice(0, 3));
  expect((await invite(globex, ['d@x.example'])).body.errors).toEqual({});
  expect(mailbox.mails).toHaveLength(4);
});

test('retries that send the same letter again count, too', async () => {
  service = await startService({ env: env({ CONTROL_MAIL_PER_ADDRESS: '3' }) });
  const org = await newOrg(service);
  const outcomes: string[] = [];
  for (let n = 0; n < 5; n += 1) {
    const { body } = await invite(org, ['ann@example.com'], { 'idempotency-key': 'once' });
    outcomes.push(body.errors['ann@example.com']?.code ?? 'sent');
  }
  expect(outcomes).toEqual(['sent', 'sent', 'sent', 'rate_limited', 'rate_limited']);
  expect(mailbox.mails).toHaveLength(3);
});
