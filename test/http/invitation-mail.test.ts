import { Writable } from 'node:stream';
import { pino } from 'pino';
import { Api, Org, type OrgBody } from '../support/api.js';
import { type Invited, type Mailbox, openMailbox } from '../support/mail.js';
import { startService } from '../support/service.js';

type LogLine = Readonly<Record<string, unknown>>;

const open: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

async function mailboxWith(...options: Parameters<typeof openMailbox>): Promise<Mailbox> {
  const mailbox = await openMailbox(...options);
  open.push(() => mailbox.close());
  return mailbox;
}

/** A service whose log is read. */
async function logged(env: Record<string, string>, level = 'trace'): Promise<{ org: Org; lines(): LogLine[] }> {
  let text = '';
  const sink = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  const service = await startService({ env, logger: pino({ level }, sink) });
  open.push(() => service.remove());
  const { body } = await new Api(service.url, service.rootKey).post<OrgBody>('/org', { name: 'acme' });
  const lines = () =>
    text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as LogLine);
  return { org: new Org(service.url, 'acme', body.key), lines };
}

function inviting({ api }: Org, emails: readonly string[], headers = {}) {
  return api.post<Invited>('/org/acme/user/-invite', { emails }, headers);
}

describe('without a mail server', () => {
  test('the code is written to the log once, and nowhere else, and is good', async () => {
    const { org, lines } = await logged({}, 'info');
    const { status, body, text } = await inviting(org, ['ann@example.com']);
    const link = body.invitations['ann@example.com'] ?? '';
    const told = lines().filter(({ code }) => typeof code === 'string');
    expect([status, told.length]).toEqual([200, 1]);
    expect(told[0]).toMatchObject({
      level: 30,
      org: 'acme',
      email: 'ann@example.com',
      invitation: link.split('/').at(-1),
    });
    const code = String(told[0]?.['code']);
    expect(text).not.toContain(code);
    expect(String(told[0]?.['msg'])).not.toContain(code);
    const accepted = await new Api(org.api.url).post(`${link}/-accept`, { code, name: 'Ann' });
    expect(accepted.status).toBe(201);
  });

  test('and with a log that would not show it, the address is reported as failed', async () => {
    const { org, lines } = await logged({}, 'warn');
    const { status, body } = await inviting(org, ['ann@example.com']);
    expect([status, body.invitations]).toEqual([200, {}]);
    expect(body.errors['ann@example.com']).toMatchObject({ status: 502, code: 'mail_failed' });
    expect(JSON.stringify(lines())).not.toContain('svcinv_');
  });
});

describe('a mail server that refuses an address', () => {
  const refusing = (refused: Set<string>) =>
    mailboxWith({
      onRcptTo: ({ address }, _session, done) => done(refused.has(address) ? new Error('no such mailbox') : null),
    });

  test('fails that address only; the invitation stays, to be revoked or made again', async () => {
    const mailbox = await refusing(new Set(['ann@example.com']));
    const { org, lines } = await logged(mailbox.env);
    const { status, headers, body, text } = await inviting(org, ['ann@example.com', 'bob@example.com']);
    expect([status, Object.keys(body.invitations)]).toEqual([200, ['bob@example.com']]);
    const link = body.errors['ann@example.com']?.details.invitation ?? '';
    expect(body.errors).toEqual({
      'ann@example.com': {
        status: 502,
        code: 'mail_failed',
        message: expect.any(String),
        details: { invitation: link },
        id: headers.get('x-request-id'),
      },
    });
    expect(text).not.toContain('no such mailbox');
    expect((await org.api.get<{ email: string }>(link)).body.email).toBe('ann@example.com');
    expect((await org.api.send('DELETE', link)).status).toBe(204);
    const told = lines().filter(({ email, level }) => email === 'ann@example.com' && level === 40);
    expect(told).toMatchObject([{ code: 'EENVELOPE', responseCode: 550, invitation: link.split('/').at(-1) }]);
  });

  test('gets the letter with the retry, once it takes it', async () => {
    const refused = new Set(['ann@example.com']);
    const mailbox = await refusing(refused);
    const { org } = await logged(mailbox.env);
    const key = { 'idempotency-key': 'once' };
    const first = await inviting(org, ['ann@example.com', 'bob@example.com'], key);
    refused.clear();
    const again = await inviting(org, ['ann@example.com', 'bob@example.com'], key);
    const link = first.body.errors['ann@example.com']?.details.invitation ?? '';
    expect(again.body).toEqual({
      invitations: { 'ann@example.com': link, 'bob@example.com': first.body.invitations['bob@example.com'] },
      errors: {},
    });
    const code = mailbox.code('ann@example.com');
    expect((await new Api(org.api.url).post(`${link}/-accept`, { code, name: 'Ann' })).status).toBe(201);
  });
});

test('a mail server that is not there fails every address, and nothing hangs', async () => {
  const mailbox = await openMailbox();
  await mailbox.close();
  const { org } = await logged(mailbox.env);
  const { status, body } = await inviting(org, ['ann@example.com', 'bob@example.com']);
  expect([status, Object.values(body.errors).map(({ code }) => code)]).toEqual([200, ['mail_failed', 'mail_failed']]);
});

describe('the password of the mail server', () => {
  const PASSWORD = 'pass/word:with@signs';
  const userinfo = `mailer:${encodeURIComponent(PASSWORD)}@`;

  test('reaches the server decoded', async () => {
    let told: unknown;
    const mailbox = await mailboxWith(
      {
        authOptional: false,
        allowInsecureAuth: true,
        onAuth: ({ username, password }, _session, done) => {
          told = [username, password];
          done(null, { user: username });
        },
      },
      { userinfo },
    );
    const { org } = await logged(mailbox.env);
    expect((await inviting(org, ['ann@example.com'])).body.errors).toEqual({});
    expect(told).toEqual(['mailer', PASSWORD]);
  });

  // All of 127.0.0.0/8 is the loopback here, but what is not called so counts as another host.
  (process.platform === 'linux' ? test : test.skip)('goes to no other host without TLS', async () => {
    let told = false;
    const mailbox = await mailboxWith(
      {
        authOptional: false,
        allowInsecureAuth: true,
        onAuth: ({ username }, _session, done) => {
          told = true;
          done(null, { user: username });
        },
      },
      { userinfo, host: '127.0.0.2' },
    );
    const { org } = await logged(mailbox.env);
    expect((await inviting(org, ['ann@example.com'])).body.errors['ann@example.com']?.code).toBe('mail_failed');
    expect(told).toBe(false);
  });

  test('is never logged, nor the code, also where the server repeats what it was sent', async () => {
    const mailbox = await mailboxWith(
      {
        authOptional: false,
        allowInsecureAuth: true,
        onAuth: ({ username, password }, _session, done) => done(new Error(`${username} is not ${password}`)),
      },
      { userinfo },
    );
    const { org, lines } = await logged(mailbox.env);
    const { body, text } = await inviting(org, ['ann@example.com']);
    expect(body.errors['ann@example.com']?.code).toBe('mail_failed');
    expect(lines().some(({ code }) => code === 'EAUTH')).toBe(true);
    for (const secret of [
      PASSWORD,
      encodeURIComponent(PASSWORD),
      Buffer.from(PASSWORD).toString('base64'),
      'svcinv_',
    ]) {
      expect(JSON.stringify(lines())).not.toContain(secret);
      expect(text).not.toContain(secret);
    }
  });
});
