import { createHash } from 'node:crypto';
import { type Answer, Api, newOrg, type Org, pointers, type Refusal } from '../support/api.js';
import { type Invited, invite, type Mailbox, newUser, openMailbox, type UserBody } from '../support/mail.js';
import { startService, type TestService } from '../support/service.js';

interface Invitation {
  readonly kind: string;
  readonly id: string;
  readonly email: string;
  readonly group?: string;
  readonly expires: string;
  readonly version: number;
  readonly created: string;
  readonly links: readonly { readonly rel: string; readonly href: string }[];
}

type NewUser = UserBody & { readonly key: string };

const DAY = 24 * 60 * 60 * 1000;

let mailbox: Mailbox;
let service: TestService;
let org: Org;
let late = 0;

beforeAll(async () => {
  mailbox = await openMailbox();
  service = await startService({ env: mailbox.env, clock: { now: () => Date.now() + late } });
});

beforeEach(async () => {
  late = 0;
  org = await newOrg(service);
});

afterAll(async () => {
  await service.remove();
  await mailbox.close();
});

function inviting<Body = Invited>(body: object, headers = {}, by = org): Promise<Answer<Body>> {
  return by.api.post<Body>(`/org/${by.name}/user/-invite`, body as never, headers);
}

function accepting<Body = NewUser>(link: string, body: object, headers = {}): Promise<Answer<Body>> {
  return new Api(service.url).post<Body>(`${link}/-accept`, body as never, headers);
}

async function open(): Promise<readonly Invitation[]> {
  return (await org.api.get<{ items: Invitation[] }>(`/org/${org.name}/invitation`)).body.items;
}

describe('an invitation', () => {
  test('is answered with its link, and listed, without a code or its hash', async () => {
    const { status, body } = await inviting({ emails: ['Ann@Example.COM'], group: 'viewers' });
    expect([status, body.errors, Object.keys(body.invitations)]).toEqual([200, {}, ['ann@example.com']]);
    const [invitation] = await open();
    expect(Object.keys(invitation ?? {}).sort()).toEqual([
      'created',
      'email',
      'expires',
      'group',
      'id',
      'kind',
      'lastModified',
      'links',
      'version',
    ]);
    expect(invitation).toMatchObject({ kind: 'invitation', email: 'ann@example.com', group: 'viewers', version: 1 });
    const lifetime = Date.parse(invitation?.expires ?? '') - Date.parse(invitation?.created ?? '');
    expect(lifetime).toBe(7 * DAY);
    const link = body.invitations['ann@example.com'] ?? '';
    expect(link).toBe(`/org/${org.name}/invitation/${invitation?.id}`);
    const read = await org.api.get<Invitation>(link);
    expect([read.status, read.headers.get('etag'), read.body]).toEqual([200, '"1"', invitation]);
  });

  test('is one mail to one address, with nothing in its headers that was not meant', async () => {
    const link = await invite(org, 'ann@example.com');
    const mails = mailbox.mails.filter(({ text }) => text.includes(link));
    expect(mails).toHaveLength(1);
    const [mail] = mails;
    expect([mail?.from, mail?.to]).toEqual(['no-reply@acme.example', ['ann@example.com']]);
    expect(mail?.headers.map((header) => header.split(':')[0])?.sort()).toEqual([
      'Auto-Submitted',
      'Content-Transfer-Encoding',
      'Content-Type',
      'Date',
      'From',
      'MIME-Version',
      'Message-ID',
      'Subject',
      'To',
    ]);
    expect(mail?.headers).toContain('To: ann@example.com');
    expect(mail?.headers).toContain(`Subject: Invitation to ${org.name}`);
    expect(mail?.headers).toContain('From: Acme <no-reply@acme.example>');
    expect(mail?.headers).toContain('Content-Type: text/plain; charset=utf-8');
  });

  test('says in the mail how to accept it, by command and by call', async () => {
    const link = await invite(org, 'ann@example.com', 'viewers');
    const code = mailbox.code('ann@example.com');
    const text = mailbox.mails.at(-1)?.text ?? '';
    const id = link.split('/').at(-1);
    expect(text).toContain(`\n  svc invitation accept ${org.name}/${id} --code ${code} --name "Your Name"\r\n`);
    expect(text).toContain(`\n  POST ${link}/-accept\r\n`);
    expect(text).toContain(`{"code": "${code}", "name": "Your Name"}`);
    expect(text).toContain(`organization ${org.name}, and to its group viewers`);
  });

  test('has a code of its own of 256 bits, which is stored nowhere', async () => {
    await inviting({ emails: ['ann@example.com', 'bob@example.com'] });
    const codes = [mailbox.code('ann@example.com'), mailbox.code('bob@example.com')];
    expect(new Set(codes).size).toBe(2);
    for (const code of codes) {
      expect(code).toMatch(/^svcinv_[A-Za-z0-9_-]{43}$/);
      const stored = await service.stored();
      const hash = createHash('sha256').update(code).digest('hex');
      expect([stored.includes(hash), stored.includes(code)]).toEqual([true, false]);
    }
  });

  test('takes the place of an earlier one of the address, whose code is then worth nothing', async () => {
    const first = await invite(org, 'ann@example.com');
    const code = mailbox.code('ann@example.com');
    const second = await invite(org, 'Ann@example.com');
    expect((await open()).map(({ links }) => links[0]?.href)).toEqual([second]);
    expect((await accepting<Refusal>(first, { code, name: 'Ann' })).status).toBe(404);
    expect((await accepting(second, { code: mailbox.code('ann@example.com'), name: 'Ann' })).status).toBe(201);
  });

  test('of an address beyond ASCII reaches it', async () => {
    const link = await invite(org, 'jörg@example.com');
    expect(mailbox.mails.at(-1)?.to).toEqual(['jörg@example.com']);
    const { body, status } = await accepting(link, { code: mailbox.code('jörg@example.com'), name: 'Jörg' });
    expect([status, body.email]).toEqual([201, 'jörg@example.com']);
    expect((await org.api.get<UserBody>(body.links[0]?.href ?? '')).body.email).toBe('jörg@example.com');
  });
});

describe('inviting', () => {
  test('tells of each address what became of it', async () => {
    await newUser(org, mailbox, 'ann@example.com');
    const answer = await inviting({ emails: ['ANN@example.com', 'bob@example.com'] });
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body.invitations)).toEqual(['bob@example.com']);
    expect(answer.body.errors).toEqual({
      'ann@example.com': {
        status: 409,
        code: 'conflict',
        message: expect.any(String),
        details: {},
        id: answer.headers.get('x-request-id'),
      },
    });
  });

  test.each<[string, object, string[]]>([
    ['no addresses', {}, ['/emails']],
    ['an empty list', { emails: [] }, ['/emails']],
    ['eleven addresses', { emails: Array.from({ length: 11 }, (_, n) => `a${n}@example.com`) }, ['/emails']],
    ['an address that is no text', { emails: [1] }, ['/emails/0']],
    ['one without @', { emails: ['ann'] }, ['/emails/0']],
    ['one with two', { emails: ['ann@bob@example.com'] }, ['/emails/0']],
    ['one with nothing before it', { emails: ['@example.com'] }, ['/emails/0']],
    ['one with nothing after it', { emails: ['ann@'] }, ['/emails/0']],
    ['one with white space', { emails: ['ann smith@example.com'] }, ['/emails/0']],
    ['one with a line separator', { emails: ['ann@example.com\u2028'] }, ['/emails/0']],
    ['one with a character of no width', { emails: ['ann\u200b@example.com'] }, ['/emails/0']],
    ['one that brings a header along', { emails: ['ann@example.com\r\nBcc: eve@example.com'] }, ['/emails/0']],
    ['one that brings a command along', { emails: ['ann@example.com>\r\nRCPT TO:<eve@example.com'] }, ['/emails/0']],
    ['one that is two', { emails: ['ann,eve@example.com'] }, ['/emails/0']],
    ['one with a name', { emails: ['Ann <ann@example.com>'] }, ['/emails/0']],
    ['one with a NUL', { emails: ['ann\u0000@example.com'] }, ['/emails/0']],
    ['one of 255 characters', { emails: [`${'a'.repeat(243)}@example.com`] }, ['/emails/0']],
    ['one twice', { emails: ['ann@example.com', 'bob@example.com', 'ANN@example.com'] }, ['/emails/2']],
    [
      'several faults',
      { emails: ['ann', 'bob@example.com', ' ', 'Bob@example.com'] },
      ['/emails/0', '/emails/2', '/emails/3'],
    ],
    ['a group that is not there', { emails: ['ann@example.com'], group: 'nobody' }, ['/group']],
    ['a group with a line end', { emails: ['ann@example.com'], group: 'viewers\r\nBcc: eve@example.com' }, ['/group']],
    ['an unknown field', { emails: ['ann@example.com'], code: 'mine' }, ['/code']],
  ])('is refused with %s', async (_what, body, places) => {
    const before = mailbox.mails.length;
    const answer = await inviting<Refusal>(body);
    expect([answer.status, answer.body.code, pointers(answer)]).toEqual([400, 'validation_failed', places]);
    expect([await open(), mailbox.mails.length]).toEqual([[], before]);
  });

  test('takes an address of 254 characters', async () => {
    const email = `${'a'.repeat(242)}@example.com`;
    expect((await inviting({ emails: [email] })).status).toBe(200);
    expect((await open()).map((invitation) => invitation.email)).toEqual([email]);
  });

  test('is for those who may invite', async () => {
    const { body } = await newUser(org, mailbox, 'ann@example.com', { group: 'viewers' });
    const viewer = new Api(service.url, body.key);
    const path = `/org/${org.name}`;
    expect((await viewer.get(`${path}/user`)).status).toBe(200);
    const link = await invite(org, 'bob@example.com');
    const answers = [
      await viewer.post<Refusal>(`${path}/user/-invite`, { emails: ['cem@example.com'] }),
      await viewer.get<Refusal>(`${path}/invitation`),
      await viewer.get<Refusal>(link),
      await viewer.send<Refusal>('DELETE', link),
    ];
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    expect((await open()).map(({ email }) => email)).toEqual(['bob@example.com']);
  });

  test('into a group is for those who may also edit the group', async () => {
    const { body } = await newUser(org, mailbox, 'ann@example.com');
    const policy = {
      name: 'inviters',
      targetKind: 'user',
      target: 'all',
      bindings: [{ permissions: ['invite'], principalLinks: [`/org/${org.name}/user/ann@example.com`] }],
    };
    expect((await org.api.post(`/org/${org.name}/policy`, policy)).status).toBe(201);
    const inviter = new Api(service.url, body.key);
    const asked = (group?: string) =>
      inviter.post<Refusal>(`/org/${org.name}/user/-invite`, { emails: ['eve@example.com'], ...(group && { group }) });
    expect((await asked()).status).toBe(200);
    const refused = [await asked('superusers'), await asked('not-there')];
    expect(refused.map(({ status, body: { code } }) => [status, code])).toEqual([
      [403, 'forbidden'],
      [403, 'forbidden'],
    ]);
    expect((await open()).map(({ group }) => group)).toEqual([undefined]);
  });
});

describe('an Idempotency-Key on an invitation', () => {
  const emails = ['ann@example.com', 'bob@example.com'];

  test('gives the first answer again, and sends the same letters', async () => {
    const first = await inviting({ emails }, { 'idempotency-key': 'once' });
    const sent = mailbox.mails.slice(-2).map(({ headers, text }) => [messageId(headers), text]);
    const again = await inviting({ emails }, { 'idempotency-key': 'once' });
    expect([again.status, again.text]).toEqual([200, first.text]);
    expect(
      mailbox.mails
        .slice(-2)
        .map(({ headers, text }) => [messageId(headers), text])
        .sort(),
    ).toEqual(sent.sort());
    expect(await open()).toHaveLength(2);
  });

  test('holds for the whole: another list is refused, also one without any of the addresses', async () => {
    await inviting({ emails }, { 'idempotency-key': 'once' });
    for (const other of [['ann@example.com'], ['cem@example.com']]) {
      const { status, body } = await inviting<Refusal>({ emails: other }, { 'idempotency-key': 'once' });
      expect([status, body.code]).toEqual([409, 'idempotency_conflict']);
    }
    expect(await open()).toHaveLength(2);
  });

  test('sends nothing for what was accepted or revoked since, and keeps the answer', async () => {
    const first = await inviting({ emails }, { 'idempotency-key': 'once' });
    const [ann = '', bob = ''] = emails.map((email) => first.body.invitations[email]);
    await accepting(ann, { code: mailbox.code('ann@example.com'), name: 'Ann' });
    await org.api.send('DELETE', bob);
    const before = mailbox.mails.length;
    expect((await inviting({ emails }, { 'idempotency-key': 'once' })).text).toBe(first.text);
    expect(mailbox.mails).toHaveLength(before);
  });

  function messageId(headers: readonly string[]): string | undefined {
    return headers.find((header) => header.startsWith('Message-ID:'));
  }
});

describe('revoking an invitation', () => {
  test('answers 204, and the code is worth nothing', async () => {
    const link = await invite(org, 'ann@example.com');
    expect((await org.api.send('DELETE', link)).status).toBe(204);
    expect(await open()).toEqual([]);
    expect((await org.api.get<Refusal>(link)).status).toBe(404);
    expect((await org.api.send<Refusal>('DELETE', link)).body.code).toBe('not_found');
    const code = mailbox.code('ann@example.com');
    expect((await accepting<Refusal>(link, { code, name: 'Ann' })).status).toBe(404);
  });

  test('is refused at another version', async () => {
    const link = await invite(org, 'ann@example.com');
    const refused = await org.api.send<Refusal>('DELETE', link, undefined, { 'if-match': '"2"' });
    expect([refused.status, refused.body.code]).toEqual([412, 'precondition_failed']);
    expect((await org.api.send('DELETE', link, undefined, { 'if-match': '"1"' })).status).toBe(204);
  });

  test('of another organization is refused, and its id is unknown in one’s own', async () => {
    const link = await invite(org, 'ann@example.com');
    const other = await newOrg(service);
    expect((await other.api.send('DELETE', link)).status).toBe(403);
    expect((await other.api.send('DELETE', link.replace(org.name, other.name))).status).toBe(404);
    expect((await other.api.get(link.replace(org.name, other.name))).status).toBe(404);
    expect(await open()).toHaveLength(1);
  });
});

describe('the list of invitations', () => {
  test('goes page by page, the oldest first', async () => {
    const emails = ['cem@example.com', 'ann@example.com', 'bob@example.com'];
    for (const email of emails) await invite(org, email);
    const found: string[] = [];
    for (let path: string | undefined = `/org/${org.name}/invitation?limit=2`; path !== undefined; ) {
      const { body }: Answer<{ items: Invitation[]; links: { rel: string; href: string }[] }> = await org.api.get(path);
      found.push(...body.items.map(({ email }) => email));
      path = body.links.find(({ rel }) => rel === 'next')?.href;
    }
    expect(found).toEqual(emails);
  });
});
