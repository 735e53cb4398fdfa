import { PAYLOADS, RAW } from '../support/payloads.js';
import { answer, closeServers, scriptedServer } from '../support/scripted-server.js';
import { svc } from '../support/svc.js';
import { svcOnTerminal, withTerminal } from '../support/terminal.js';

const FORMATS = ['text', 'json', 'yaml', 'json-slim', 'yaml-slim', 'tf', 'crd', 'names'] as const;
const KINDS = ['user', 'group', 'serviceaccount', 'policy', 'domain', 'invitation'] as const;

const ALL = PAYLOADS.join('|');

/** A service that has been taken over: every field it sends, known or not, is made of payloads. */
function resource(kind: string, payload: string) {
  const link = `/org/${payload}/${payload}/${payload}`;
  const terms = [{ op: payload, property: payload, value: payload }, { [payload]: payload }];
  return {
    ...{ kind, id: payload, name: `name${payload}`, email: `mail${payload}`, idp: payload, description: payload },
    ...{ tags: { [payload]: payload }, version: payload, created: payload, lastModified: payload, origin: payload },
    ...{ memberLinks: [link], memberQuery: { kind: payload, fetch: payload, spec: { match: payload, terms } } },
    ...{ keys: [{ id: payload, description: payload, created: payload }], group: payload, expires: payload },
    ...{ targetKind: payload, target: payload, targetLinks: [link] },
    bindings: [{ permissions: [payload], principalLinks: [link] }],
    spec: { dnsMode: payload, ports: [{ number: payload, protocol: payload }] },
    links: [{ rel: 'self', href: payload }],
    [payload]: payload,
  };
}

function event(payload: string) {
  return {
    ...{ id: payload, eventTime: payload, requestId: payload },
    resource: { id: payload, name: payload, type: payload, data: { [payload]: payload, tags: { [payload]: payload } } },
    ...{ subject: { email: payload, name: payload } },
    context: {
      ...{ org: payload, name: payload, remoteIp: payload },
      publisher: { link: `/org/acme/user/${payload}`, keyId: payload, remoteIp: payload },
    },
    action: { type: payload, data: { before: { [payload]: payload }, after: { [payload]: `${payload}2` } } },
    result: { status: payload, message: payload },
  };
}

const permission = (payload: string) => ({
  ...{ name: payload, description: payload, implies: [payload] },
  bindings: [{ principalLink: payload, policyLink: payload, via: payload, grantedPermissions: [payload] }],
});

const listOf = (itemKind: string, items: unknown[]) => ({ kind: 'list', itemKind, items, links: [] });

/** Answers every call with payloads. */
async function hostileService() {
  const { url } = await scriptedServer((request, response) => {
    const [, kind = ''] = /\/org\/acme\/(\w+)/.exec(request.url) ?? [];
    if (request.url.includes('-eventlog')) return answer(response, 200, listOf('auditevent', PAYLOADS.map(event)));
    if (request.url.includes('-accessreport')) {
      return answer(response, 200, { kind: 'accessreport', permissions: PAYLOADS.map(permission) });
    }
    if (request.url.includes('-schema')) {
      return answer(response, 200, { kind: 'permissions', targetKind: ALL, items: PAYLOADS.map(permission) });
    }
    if (request.url.includes('-invite')) {
      const error = { status: 409, message: ALL, code: ALL, id: ALL };
      return answer(response, 200, { invitations: { [ALL]: ALL }, errors: { [ALL]: error } });
    }
    if (request.url.includes('-query') || /^GET \/org\/acme\/\w+(\?.*)?$/.test(`${request.method} ${request.url}`)) {
      return answer(
        response,
        200,
        listOf(
          kind,
          PAYLOADS.map((payload) => resource(kind, payload)),
        ),
      );
    }
    answer(response, 200, resource(kind, ALL));
  });
  return { SVC_ENDPOINT: url, SVC_ORG: 'acme', SVC_TOKEN: 'token' };
}

afterEach(closeServers);

/** What is run against it; those that change something show what they were answered. */
const CALLS: readonly (readonly string[])[] = [
  ...KINDS.map((kind) => [kind, 'get']),
  ['user', 'get', 'one', 'two'],
  ['group', 'get', 'one'],
  ['group', 'create', '--name', 'g1'],
];

const UNDECLARED: readonly (readonly string[])[] = [
  ['user', 'eventlog', 'one'],
  ['group', 'access-report', 'one'],
  ['user', 'permissions'],
  ['user', 'invite', '--email', 'a@example.com'],
];

/** The tabs between the cells of a table are the command's own. */
const rawIn = (format: string, text: string) => RAW.exec(format === 'text' ? text.replaceAll('\t', ' ') : text);

describe.each(FORMATS)('a service that sends nothing but control characters, -o %s', (format) => {
  it.each(CALLS)('svc %s %s', async (...args) => {
    const { stdout, stderr } = await svc([...args, '-o', format], { env: await hostileService() });
    expect(rawIn(format, stdout + stderr)).toBeNull();
    expect(stdout + stderr).toContain('\\u001b');
  });

  it.each(UNDECLARED)('svc %s %s', async (...args) => {
    const { code, stdout, stderr } = await svc([...args, '-o', format], { env: await hostileService() });
    expect(rawIn(format, stdout + stderr)).toBeNull();
    // Where there is no such form of what is shown, the command says so before it sends anything.
    expect(code === 2 ? stderr : stdout).toContain(code === 2 ? `--output ${format} is not available` : '\\u001b');
  });

  withTerminal('on a terminal', async () => {
    const env = await hostileService();
    for (const args of ['user get', 'group get one', 'user eventlog one', 'group access-report one']) {
      const screen = await svcOnTerminal(`${args} --no-color -o ${format}`, env);
      expect(RAW.exec(screen)).toBeNull();
    }
  });
});

it.each([[[]], [['--debug']], [['--verbose']]])('refusals and headers, with %j', async (options) => {
  const { url } = await scriptedServer((_request, response) => {
    const fields = [{ pointer: ALL, reason: ALL }];
    answer(
      response,
      400,
      { status: 400, message: ALL, code: ALL, id: ALL, details: { fields } },
      { 'x-request-id': '\u0085' },
    );
  });
  const env = { SVC_ENDPOINT: url, SVC_ORG: 'acme', SVC_TOKEN: 'token' };
  const { code, stdout, stderr } = await svc(['group', 'get', 'a\u001b[2J', ...options], { env });
  expect([code, stdout]).toEqual([1, '']);
  expect(RAW.exec(stderr)).toBeNull();
});

it('references and values that are typed', async () => {
  const { url } = await scriptedServer((_request, response) => answer(response, 404, { status: 404, message: 'no' }));
  const env = { SVC_ENDPOINT: url, SVC_ORG: 'acme', SVC_TOKEN: 'token' };
  const typed = PAYLOADS.filter((payload) => !payload.includes('\0')).map((payload) => `a${payload}b`);
  for (const args of [
    ['group', 'get', ...typed],
    ['group', 'delete', ...typed],
    ['group', 'update', 'g', ...typed.flatMap((one) => ['--set', one])],
    ['user', 'tag', 'g', ...typed.flatMap((one) => ['--tag', one])],
  ]) {
    const { code, stdout, stderr } = await svc(args, { env });
    expect([code === 0, stdout, RAW.exec(stderr)]).toEqual([false, '', null]);
    expect(stderr).toContain('\\u00');
  }
});
