import { spawn } from 'node:child_process';
import { parse } from 'yaml';
import {
  acceptBulk,
  answer,
  closeServers,
  page,
  type ScriptedServer,
  scriptedServer,
} from './support/scripted-server.js';
import { MAIN, NODE, svc } from './support/svc.js';
import { svcOnTerminal, withTerminal } from './support/terminal.js';

const HOSTILE = 'a\u001b[2Jb\u0000c\u0007d\u007fe\u009b31mf\u2028g\u2029h\u202ei\u2066j\rk\nl\tm\u061cn\ufeffo';
const RAW = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u2028-\u202e\u2066-\u2069\ufeff]/;

const HOSTILE_EVENT = {
  id: HOSTILE,
  eventTime: HOSTILE,
  resource: { name: HOSTILE, type: HOSTILE, data: { [HOSTILE]: HOSTILE } },
  context: { remoteIp: HOSTILE, publisher: { link: HOSTILE, keyId: HOSTILE, remoteIp: HOSTILE } },
  subject: { email: HOSTILE },
  action: { type: HOSTILE },
  result: { status: HOSTILE },
};

let server: ScriptedServer | undefined;
const serve = async (...args: Parameters<typeof scriptedServer>) => {
  server = await scriptedServer(...args);
  return { SVC_ENDPOINT: server.url, SVC_ORG: 'acme', SVC_TOKEN: 'token' };
};
const servePages = (...pages: unknown[][]) =>
  serve(({ url }, response) => {
    const at = Number(new URLSearchParams(url.split('?')[1]).get('cursor') ?? 0);
    const next = at + 1 < pages.length ? `/audit/org/acme?cursor=${at + 1}` : undefined;
    answer(response, 200, page(pages[at] ?? [], next));
  });

afterEach(closeServers);

describe('control characters are never written raw', () => {
  it.each(['text', 'json', 'yaml', 'json-slim', 'yaml-slim', 'names'])('list and get, -o %s', async (format) => {
    const env = await serve(({ url }, response) =>
      answer(
        response,
        200,
        url.includes('/id/') ? { kind: 'auditevent', item: HOSTILE_EVENT, links: [] } : page([HOSTILE_EVENT]),
      ),
    );
    for (const args of [['list'], ['get', 'x'], ['get', 'x', 'y'], ['list', '--color', '--ts', 'local']]) {
      const { code, stdout, stderr } = await svc(['audit', ...args, '-o', format], { env });
      expect([code, stderr]).toEqual([0, '']);
      expect(format === 'text' ? stdout.replaceAll('\t', '') : stdout).not.toMatch(RAW);
      expect(stdout).toContain('\\u001b[2Jb');
      if (format === 'text' || format === 'names')
        expect(stdout.trimEnd().split('\n').length).toBe(args.includes('y') ? 2 : 1);
    }
  });

  it('JSON and YAML still have the same values', async () => {
    const env = await servePages([HOSTILE_EVENT]);
    const json = await svc(['audit', 'list', '-o', 'json'], { env });
    const yaml = await svc(['audit', 'list', '-o', 'yaml'], { env });
    expect(JSON.parse(json.stdout)).toEqual(page([HOSTILE_EVENT]));
    expect(parse(yaml.stdout)).toEqual(page([HOSTILE_EVENT]));
  });

  it('errors and --debug escape them, too', async () => {
    const env = await serve((_, response) =>
      answer(response, 400, { status: 400, message: HOSTILE, code: HOSTILE, id: HOSTILE }),
    );
    const { stderr } = await svc(['audit', 'list', '-d', '--resource-name', HOSTILE.replace('\0', '')], { env });
    expect(stderr).not.toMatch(RAW);
  });
});

describe('text', () => {
  const EVENTS = [
    {
      id: 'id-1',
      eventTime: '2024-05-01T12:00:00.000Z',
      resource: { name: '東京', type: 'workload' },
      action: { type: 'edit' },
      result: { status: 'OK' },
      subject: { email: 'ann@example.com', name: 'Ann' },
      context: { remoteIp: '10.0.0.1' },
    },
    { id: 'id-2', eventTime: '2024-05-01T11:00:00.000Z', resource: { id: 'r-2' }, subject: { name: 'Bob' } },
    { id: 3, resource: 7, subject: null, action: [] },
  ];

  it('in a pipe: tabs between cells, no header, no colour, ISO times', async () => {
    const env = await servePages(EVENTS);
    expect((await svc(['audit', 'list'], { env })).stdout).toBe(
      [
        '2024-05-01T12:00:00.000Z\tedit\tOK\tworkload\t東京\tann@example.com\t10.0.0.1\t-\tid-1',
        '2024-05-01T11:00:00.000Z\t-\t-\t-\tr-2\tBob\t-\t-\tid-2',
        '-\t-\t-\t-\t-\t-\t-\t-\t3',
        '',
      ].join('\n'),
    );
  });

  it('marks a subject that is not the publisher, and names the publisher', async () => {
    const by = (link: string | undefined, subject: unknown, keyId = 'k') => ({
      id: 'id',
      context: { publisher: { link, keyId } },
      subject,
    });
    const [ci, ann] = ['/org/acme/serviceaccount/ci', '/org/acme/user/ann@example.com'];
    const rows: [event: unknown, who: string][] = [
      [by(ci, { name: 'ci', data: { link: ci } }), 'ci'],
      [by(ann, { name: 'Ann', email: 'Ann@example.com' }), 'Ann@example.com'],
      [by(undefined, { name: 'root' }, 'root'), 'root'],
      [by(ci, { email: 'ann@example.com' }), '*ann@example.com (by ci)'],
      [by(ci, { email: 'ci' }), '*ci (by ci)'],
      [by(ann, { name: 'ann@example.com' }), '*ann@example.com (by ann@example.com)'],
      [by(ann, { name: 'ci' }), '*ci (by ann@example.com)'],
      [by(undefined, { name: 'ci' }, 'root'), '*ci (by root)'],
      [by(ci, {}), '*- (by ci)'],
      [by(ci, null), '*- (by ci)'],
      [by('/org/acme/serviceaccount/%zz', { name: 'ci' }), '*ci (by /org/acme/serviceaccount/%zz)'],
      [{ id: 'id', subject: { name: 'ci' }, context: { publisher: null } }, 'ci'],
      [{ id: 'id', subject: { name: 'ci' } }, 'ci'],
    ];
    const env = await servePages(rows.map(([event]) => event));
    const { stdout } = await svc(['audit', 'list'], { env });
    const who = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t')[5]);
    expect(who).toEqual(rows.map(([, shown]) => shown));
  });

  withTerminal('keeps the mark of a subject that is cut', async () => {
    const event = {
      id: '01890a5d-ac96-774b-bcce-b302099a8057',
      eventTime: '2024-05-01T12:00:00.000Z',
      context: { publisher: { link: '/org/acme/serviceaccount/ci', keyId: 'k' }, remoteIp: '2001:db8::1234:5678' },
      subject: { email: `${'a'.repeat(200)}@example.com` },
      resource: { name: 'r'.repeat(100) },
    };
    expect(await svcOnTerminal('audit list', await servePages([event]))).toMatch(/ \*a+… /);
  });

  it('colour and time style when asked for', async () => {
    const env = await servePages(EVENTS);
    const { stdout } = await svc(['audit', 'list', '--color', '--ts', 'local', '--max', '1'], {
      env: { ...env, TZ: 'Asia/Tokyo', NO_COLOR: '1' },
    });
    expect(stdout).toBe(
      '2024-05-01 21:00:00\tedit\t\u001b[32mOK\u001b[39m\tworkload\t東京\tann@example.com\t10.0.0.1\t-\tid-1\n',
    );
    expect((await svc(['audit', 'list', '--ts', 'age'], { env })).stdout).toMatch(/^\d+y\t/);
  });

  withTerminal('on a terminal: an event that is null is a row, and has no name', async () => {
    const env = await servePages([null]);
    expect(await svcOnTerminal('audit list', env)).toMatch(/code 0\n$/);
    expect(await svcOnTerminal('audit list -o names', env)).toMatch(/code 0\n$/);
  });

  withTerminal('on a terminal: header, ages, cut to its width, no colour with NO_COLOR', async () => {
    const env = await servePages([{ ...EVENTS[0], resource: { name: `long-${'x'.repeat(200)}`, type: 't' } }]);
    const [header = '', day, row = ''] = (await svcOnTerminal('audit list', { ...env, NO_COLOR: '1' })).split('\n');
    expect(header).toMatch(/^TIME +ACTION +RESOURCE +WHO +CONTEXT +ID$/);
    expect(day).toBe('2024-05-01');
    expect(row).toMatch(/^\d+y +✓ .* t\/long-x+… .* id-1$/);
    expect(row.length).toBeLessThanOrEqual(100);
    expect(await svcOnTerminal('audit list', env)).toContain('\u001b[1mTIME');
  });

  withTerminal('on a terminal a publish shows how far it is, and leaves nothing of it behind', async () => {
    const env = await serve(acceptBulk);
    const screen = await svcOnTerminal('audit publish --resource-name x', env);
    expect(screen).toContain(' events, ');
  });
});

describe('several pages', () => {
  const pages = [[{ id: 'a' }, { id: 'b' }], [{ id: 'c' }, { id: 'd' }], [{ id: 'e' }]];
  const read = async (...args: string[]) => {
    const env = await servePages(...pages);
    return (await svc(['audit', 'list', ...args], { env })).stdout;
  };

  it.each([
    ['1', 'a\n', 1],
    ['2', 'a\nb\n', 1],
    ['3', 'a\nb\nc\n', 2],
    ['0', 'a\nb\nc\nd\ne\n', 3],
    ['-1', 'a\nb\nc\nd\ne\n', 3],
    ['50', 'a\nb\nc\nd\ne\n', 3],
  ])('--max %s', async (max, names, requests) => {
    expect(await read('-o', 'names', '--max', max)).toBe(names);
    expect(server?.seen.length).toBe(requests);
  });

  it('are one document: merged items, the first envelope, links to itself only', async () => {
    const whole = { ...page(pages.flat()), links: [{ rel: 'self', href: '/audit/org/acme' }] };
    expect(JSON.parse(await read('-o', 'json'))).toEqual(whole);
    expect(parse(await read('-o', 'yaml'))).toEqual(whole);
  });

  it('one page keeps all its links', async () => {
    expect(JSON.parse(await read('-o', 'json', '--max', '2'))).toEqual(
      page(pages[0] ?? [], '/audit/org/acme?cursor=1'),
    );
  });

  it('slim leaves out what the service assigned', async () => {
    const env = await servePages([
      { id: 'a', version: 1, created: 'x', lastModified: 'y', status: {}, links: [], resource: { id: 'kept' } },
    ]);
    const slim = {
      kind: 'queryresult',
      itemKind: 'auditevent',
      items: [{ resource: { id: 'kept' } }],
      query: { pageSize: '2' },
    };
    expect(JSON.parse((await svc(['audit', 'list', '-o', 'json-slim'], { env })).stdout)).toEqual(slim);
    expect(parse((await svc(['audit', 'list', '-o', 'yaml-slim'], { env })).stdout)).toEqual(slim);
  });

  it('an empty list is an empty document', async () => {
    const env = await servePages([]);
    expect(JSON.parse((await svc(['audit', 'list', '-o', 'json'], { env })).stdout)).toEqual(page([]));
    expect(parse((await svc(['audit', 'list', '-o', 'yaml'], { env })).stdout)).toEqual(page([]));
    expect((await svc(['audit', 'list'], { env })).stdout).toBe('');
  });
});

it('numbers keep their digits and keys their order', async () => {
  const item = '{"id":"a","action":{"data":{"2":12345678901234567890123,"1":1.10,"x":1e400,"__proto__":{"y":1}}}}';
  const env = await serve((_, response) => answer(response, 200, JSON.stringify(page(['@'])).replace('"@"', item)));
  const { stdout } = await svc(['audit', 'list', '-o', 'json'], { env });
  expect(stdout.replace(/\s/g, '')).toContain(item);
  const yaml = await svc(['audit', 'list', '-o', 'yaml'], { env });
  expect(yaml.stdout).toContain(
    '"2": 12345678901234567890123\n      "1": 1.10\n      x: 1e400\n      __proto__:\n        "y": 1\n',
  );
});

describe('a reader that goes away', () => {
  const many = Array.from({ length: 2000 }, (_, index) => ({ id: `id-${index}`, resource: { name: 'x'.repeat(100) } }));

  it.each(['text', 'json', 'yaml', 'names'])('is no error, -o %s, and no more pages are read', async (format) => {
    const env = await serve((_, response, index) =>
      answer(response, 200, page(many, `/audit/org/acme?cursor=${index}`)),
    );
    const { code, stderr } = await svc(['audit', 'list', '--max', '0', '-o', format], { env, closeAfter: 1 });
    expect([code, stderr]).toEqual([0, '']);
    expect(server?.seen.length).toBeLessThan(20);
  });

  it('a full disk is an error', async () => {
    const env = await servePages([{ id: 'a' }]);
    const child = spawn('sh', ['-c', `'${NODE}' '${MAIN}' audit list > /dev/full`], {
      env: { PATH: process.env.PATH ?? '', ...env },
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      stderr += chunk;
    });
    const code = await new Promise((closed) => child.on('close', closed));
    expect([code, stderr]).toEqual([1, expect.stringContaining('cannot write the output')]);
  });
});
