import { createHash } from 'node:crypto';
import { fastify } from 'fastify';
import type { ControlError } from '../../src/contract/errors.js';
import type { AccessCheck } from '../../src/http/access.js';
import { prepareServer } from '../../src/http/server/server.js';
import { type Answer, Api, at, type Event, newOrg, type Org, pointers, type Refusal } from '../support/api.js';
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

describe('accepting', () => {
  test('makes the user and a key, shown once, that works at once', async () => {
    const link = await invite(org, 'Ann@example.com');
    const answer = await accepting(link, { code: mailbox.code('ann@example.com'), name: 'Ann Ä.' });
    const { key, ...user } = answer.body;
    const href = `/org/${org.name}/user/ann@example.com`;
    expect(answer.status).toBe(201);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect([answer.headers.get('location'), answer.headers.get('etag')]).toEqual([href, '"1"']);
    expect(user).toEqual({
      kind: 'user',
      id: expect.any(String),
      name: 'Ann Ä.',
      email: 'ann@example.com',
      idp: 'invitation',
      description: 'Ann Ä.',
      tags: {},
      version: 1,
      created: expect.any(String),
      lastModified: user.created,
      links: [{ rel: 'self', href }],
    });
    expect(key).toMatch(/^svc_[A-Za-z0-9_-]{43}$/);
    expect((await new Api(service.url, key).get(`/org/${org.name}`)).status).toBe(200);
    expect((await org.api.get<UserBody>(href)).body).toEqual(user);
    expect(await open()).toEqual([]);
  });

  test('joins the group', async () => {
    await newUser(org, mailbox, 'ann@example.com', { group: 'viewers' });
    const { body } = await org.api.get<{ memberLinks: string[] }>(`/org/${org.name}/group/viewers`);
    expect(body.memberLinks).toEqual([`/org/${org.name}/user/ann@example.com`]);
  });

  test('succeeds where the group is gone', async () => {
    await org.api.post(`/org/${org.name}/group`, { name: 'friends' });
    const link = await invite(org, 'ann@example.com', 'friends');
    expect((await org.api.send('DELETE', `/org/${org.name}/group/friends`)).status).toBe(204);
    expect((await accepting(link, { code: mailbox.code('ann@example.com'), name: 'Ann' })).status).toBe(201);
  });

  test('is refused from the seventh day on, to whom has the code', async () => {
    const link = await invite(org, 'ann@example.com');
    const body = { code: mailbox.code('ann@example.com'), name: 'Ann' };
    late = 7 * DAY + 1_000;
    const { status, body: refusal } = await accepting<Refusal>(link, body);
    expect([status, refusal.code]).toEqual([409, 'conflict']);
    expect((await accepting<Refusal>(link, { ...body, code: 'wrong' })).status).toBe(404);
    late = 7 * DAY - 60_000;
    expect((await accepting(link, body)).status).toBe(201);
  });

  test('returns the same response for a wrong code, a used one, an unknown invitation and an unknown organization', async () => {
    const used = await invite(org, 'bob@example.com');
    const usedCode = mailbox.code('bob@example.com');
    await accepting(used, { code: usedCode, name: 'Bob' });
    const link = await invite(org, 'ann@example.com');
    const code = mailbox.code('ann@example.com');
    const other = await newOrg(service);
    const unknown = '01890000-0000-7000-8000-000000000000';
    const attempts: readonly [string, string][] = [
      [link, 'wrong'],
      [link, usedCode],
      [link, createHash('sha256').update(code).digest('hex')],
      [used, usedCode],
      [`/org/${org.name}/invitation/${unknown}`, code],
      [link.replace(org.name, other.name), code],
      [link.replace(org.name, 'no-such-org'), code],
      ['/org/NO%20ORG/invitation/x', code],
      [`/org/${encodeURIComponent(`${org.name}/invitation`)}/invitation/x`, code],
    ];
    const answers = [];
    for (const [path, tried] of attempts) answers.push(await accepting<Refusal>(path, { code: tried, name: 'Eve' }));
    const [first] = answers;
    expect([first?.status, first?.body.code]).toEqual([404, 'not_found']);
    for (const { status, body, headers } of answers) {
      expect([status, { ...body, id: '' }]).toEqual([404, { ...first?.body, id: '' }]);
      expect([...headers.keys()].sort()).toEqual([...(first?.headers.keys() ?? [])].sort());
    }
    expect((await accepting(link, { code, name: 'Ann' })).status).toBe(201);
  });

  test.each<[string, object, string[]]>([
    ['nothing', {}, ['/code', '/name']],
    ['an empty name', { code: 'x', name: '' }, ['/name']],
    ['a name with a line end', { code: 'x', name: 'Ann\r\nBcc: eve@example.com' }, ['/name']],
    ['a name with an escape sequence', { code: 'x', name: '\u001b[31mAnn' }, ['/name']],
    ['a name with white space around', { code: 'x', name: ' Ann' }, ['/name']],
    ['a name of 251 characters', { code: 'x', name: 'x'.repeat(251) }, ['/name']],
    ['a code of 129 characters', { code: 'x'.repeat(129), name: 'Ann' }, ['/code']],
    ['an unknown field', { code: 'x', name: 'Ann', email: 'eve@example.com' }, ['/email']],
  ])('is refused with %s', async (_what, body, places) => {
    const answer = await accepting<Refusal>(await invite(org, 'ann@example.com'), body);
    expect([answer.status, pointers(answer)]).toEqual([400, places]);
  });

  test('takes no long body, since anybody may send one', async () => {
    const answer = await accepting<Refusal>(await invite(org, 'ann@example.com'), {
      code: 'x'.repeat(5_000),
      name: 'A',
    });
    expect([answer.status, answer.body.code]).toEqual([413, 'payload_too_large']);
  });

  test('of 10 acceptances at once one makes the user', async () => {
    const link = await invite(org, 'ann@example.com');
    const body = { code: mailbox.code('ann@example.com'), name: 'Ann' };
    const answers = await Promise.all(Array.from({ length: 10 }, () => accepting(link, body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 9 }, () => 404)]);
    const { items } = (await org.api.get<{ items: UserBody[] }>(`/org/${org.name}/user`)).body;
    expect(items).toHaveLength(1);
  });
});

describe('an Idempotency-Key on an acceptance', () => {
  const headers = { 'idempotency-key': 'mine' };

  test('returns the first response again, including the key', async () => {
    const link = await invite(org, 'ann@example.com');
    const body = { code: mailbox.code('ann@example.com'), name: 'Ann' };
    const first = await accepting(link, body, headers);
    const again = await accepting(link, body, headers);
    expect([first.status, again.status, again.text]).toEqual([201, 201, first.text]);
    expect((await new Api(service.url, again.body.key).get(`/org/${org.name}`)).status).toBe(200);
  });

  test('gives nothing to whom has not the code', async () => {
    const link = await invite(org, 'ann@example.com');
    await accepting(link, { code: mailbox.code('ann@example.com'), name: 'Ann' }, headers);
    const { status, body } = await accepting<Refusal>(link, { code: 'wrong', name: 'Ann' }, headers);
    expect([status, body.code]).toEqual([404, 'not_found']);
  });

  test('is refused with another name', async () => {
    const link = await invite(org, 'ann@example.com');
    const code = mailbox.code('ann@example.com');
    await accepting(link, { code, name: 'Ann' }, headers);
    const { status, body } = await accepting<Refusal>(link, { code, name: 'Eve' }, headers);
    expect([status, body.code]).toEqual([409, 'idempotency_conflict']);
  });

  test('holds over a restart, as the one of an invitation does', async () => {
    const before = await startService({ env: mailbox.env });
    try {
      const own = await newOrg(before);
      const first = await inviting({ emails: ['ann@example.com'] }, headers, own);
      const link = first.body.invitations['ann@example.com'] ?? '';
      const body = { code: mailbox.code('ann@example.com'), name: 'Ann' };
      const accepted = await new Api(before.url).post<NewUser>(`${link}/-accept`, body, headers);
      await before.stop();
      const after = await startService({ env: mailbox.env, dataDir: before.dataDir });
      expect((await inviting({ emails: ['ann@example.com'] }, headers, at(after, own))).text).toBe(first.text);
      const again = await new Api(after.url).post<NewUser>(`${link}/-accept`, body, headers);
      expect([again.status, again.text]).toEqual([201, accepted.text]);
      await after.stop();
    } finally {
      await before.remove();
    }
  });
});

describe('the audit events', () => {
  test('record who invited whom and who accepted, without code, key or hash', async () => {
    const { body } = await newUser(org, mailbox, 'ann@example.com', { name: 'Ann', group: 'viewers' });
    const { text, body: page } = await org.list({ contextName: 'svc', order: 'received', pageSize: '1000' });
    const events = page.items.slice(-5);
    const subject = { name: 'Ann', email: 'ann@example.com', data: { link: `/org/${org.name}/user/ann@example.com` } };
    const shown = events.map(({ action, resource, subject: { name, email } }: Event) =>
      [action?.type, resource.type, name, email].join(' '),
    );
    expect(shown).toEqual([
      'invite invitation admin ',
      'create user Ann ann@example.com',
      'add-key key Ann ann@example.com',
      'accept invitation Ann ann@example.com',
      'add-member group Ann ann@example.com',
    ]);
    expect(events.at(-1)?.subject).toEqual(subject);
    for (const secret of [body.key, mailbox.code('ann@example.com')]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(createHash('sha256').update(secret).digest('hex'));
    }
    expect(text).not.toMatch(/hash/i);
  });
});

test('an acceptance waits until the process is ready, though it needs no key', async () => {
  const server = fastify();
  const ready = { isStopping: false, closedBecause: () => 'the process is starting' as string | undefined };
  const through = (_request: unknown, _reply: unknown, done: () => void) => done();
  const noted = (_request: unknown, _reply: unknown, _payload: unknown, done: () => void) => done();
  prepareServer(server, { hook: through, hookAgain: through, noteDenied: noted } as unknown as AccessCheck, ready);
  server.setErrorHandler((error, _request, reply) => reply.send({ code: (error as ControlError).code }));
  server.post('/accept', { config: { access: 'invited' } }, () => ({ code: 'served' }));
  server.get('/health', { config: { access: 'public' } }, () => ({ code: 'served' }));
  const codes = async () => [
    (await server.inject({ method: 'POST', url: '/accept' })).json().code,
    (await server.inject({ method: 'GET', url: '/health' })).json().code,
  ];
  expect(await codes()).toEqual(['not_ready', 'served']);
  ready.closedBecause = () => undefined;
  expect(await codes()).toEqual(['served', 'served']);
});
