import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { EmbeddedEventLog } from '../../src/event-log/embedded/event-log.js';
import { at, newOrg, type Org } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';
import { addFunctions } from '../support/stored-sql.js';
import { answer, closeServers, scriptedServer } from './support/scripted-server.js';
import { startSvc, svc } from './support/svc.js';
import { svcOnTerminal, withTerminal } from './support/terminal.js';

let service: TestService;
let org: Org;

beforeAll(async () => {
  service = await startService();
  org = await newOrg(service);
  await org.bulk(Array.from({ length: 300 }, (_, index) => ({ resource: { name: `n${index}` } })));
});
afterAll(() => service.remove());
afterEach(closeServers);

const env = (url = service.url, token = service.rootKey) => ({ SVC_ENDPOINT: url, SVC_TOKEN: token });
const run = (args: string[], url?: string, token?: string) => svc(args, { env: env(url, token) });

/** Changes the files of the stopped service, and starts it again. */
async function behindItsBack(work: (dataDir: string) => void | Promise<void>): Promise<void> {
  const { dataDir } = service;
  await service.stop();
  await work(dataDir);
  service = await startService({ dataDir });
}

const spoil = (...changes: string[]) =>
  behindItsBack((dataDir) => {
    const db = new DatabaseSync(join(dataDir, 'read-model.db'));
    addFunctions(db);
    for (const change of changes) db.exec(change);
    db.close();
  });

const FORGED = "UPDATE auditevent SET id = 'a\u001b[31mb' WHERE f_resourceName = number('n7')";

describe('svc rebuild', () => {
  it('waits for the end and shows the report', async () => {
    const { code, stdout, stderr } = await run(['rebuild']);
    expect([code, stderr]).toEqual([0, '']);
    // Generation, records, unreadable, compared, missing, altered, extra.
    const [, records, compared] = /^\d+\t(\d+)\t0\t(\d+)\t0\t0\t0\n$/.exec(stdout) ?? [];
    // What jobs and keys leave in the log comes on top.
    expect(Number(records)).toBeGreaterThanOrEqual(301);
    expect(Number(compared)).toBeGreaterThanOrEqual(313);
  });

  it('names what the old generation had otherwise, without control characters', async () => {
    await spoil(FORGED, "DELETE FROM auditevent WHERE f_resourceName = number('n8')");
    const { code, stdout } = await run(['rebuild']);
    const [summary, empty, ...rows] = stdout.trimEnd().split('\n');
    expect([code, summary, empty]).toEqual([0, expect.stringMatching(/\t2\t0\t1$/), '']);
    expect(rows.map((row) => row.split('\t').slice(0, 3))).toEqual([
      ['missing', 'auditevent', org.name],
      ['extra', 'auditevent', org.name],
      ['missing', 'auditevent', org.name],
    ]);
    expect(stdout).toContain('a\\u001b[31mb');
    expect(stdout).not.toContain('\u001b');
  });

  it.each([
    ['json', /^\{\n {2}"kind": "rebuild",\n {2}"generation": \d+,/],
    ['yaml', /^kind: rebuild\ngeneration: \d+\n/],
  ])('shows the report as %s', async (format, expected) => {
    const { code, stdout } = await run(['rebuild', '-o', format]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(expected)]);
  });

  it('does not wait with --no-wait', async () => {
    const { code, stdout } = await run(['rebuild', '--no-wait', '-o', 'json']);
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ kind: 'job', state: 'running' })]);
    for (;;) if ((await run(['rebuild', '--no-wait'])).code === 0) break;
  });

  withTerminal('shows how far it is on a terminal', async () => {
    const states = [
      { state: 'running', phase: 'filling', done: 5, total: 10 },
      { state: 'done', report: { kind: 'rebuild', generation: 2, differences: {}, items: [] } },
    ];
    const { url } = await scriptedServer((request, response, index) =>
      answer(response, request.method === 'POST' ? 202 : 200, { id: 'x', ...states[Math.max(0, index - 1)] }),
    );
    const screen = await svcOnTerminal('rebuild', env(url));
    expect(screen).toContain('GENERATION');
    expect(screen).toContain('\r\u001b[Kfilling: 5 of 10 records');
    expect(screen).toContain('code 0');
  });
});

describe('svc reconcile', () => {
  const changes = [FORGED, "UPDATE auditevent SET source = '{}' WHERE f_resourceName = number('n8')"];

  it('ends with 1 while differences are left, with 0 when they are repaired or there are none', async () => {
    await spoil(...changes);
    const found = await run(['reconcile']);
    const [summary, , ...rows] = found.stdout.trimEnd().split('\n');
    // Compared, repaired, missing, altered, extra, misplaced.
    expect([found.code, found.stderr, summary]).toEqual([1, '', expect.stringMatching(/^3\d\d\t0\t1\t1\t1\t0$/)]);
    expect(rows.map((row) => row.split('\t')[0]).sort()).toEqual(['altered', 'extra', 'missing']);
    expect(found.stdout).toContain('a\\u001b[31mb');
    const repaired = await run(['reconcile', '--repair']);
    expect([repaired.code, repaired.stdout]).toEqual([0, expect.stringMatching(/^3\d\d\t3\t/)]);
    expect(repaired.stdout.match(/\tyes\n/g)).toHaveLength(3);
    const clean = await run(['reconcile']);
    expect([clean.code, clean.stdout]).toEqual([0, expect.stringMatching(/^3\d\d\t0\t0\t0\t0\t0\n$/)]);
  });

  it('shows the report of a part of the log as JSON and YAML', async () => {
    const range = ['--topic', 'audit', '--partition', '0', '--from', '10', '--to', '30'];
    const { code, stdout } = await run(['reconcile', ...range, '-o', 'json']);
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ kind: 'reconciliation', compared: 20 })]);
    expect((await run(['reconcile', ...range, '-o', 'yaml'])).stdout).toContain('compared: 20\n');
  });

  it.each([
    [['--topic', 'audit.dead'], '--topic is audit or control'],
    [['--from', '3'], '--from needs --topic'],
    [['--topic', 'audit', '--to', '-1'], '--to is a whole number from 0'],
    [['-o', 'names'], '--output names is not available for a reconciliation'],
    [['now'], 'unexpected word `now`'],
  ])('%j is a fault of usage', async (args, message) => {
    const { code, stderr } = await run(['reconcile', ...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe.each([['rebuild'], ['reconcile']])('svc %s', (command) => {
  it('says why it failed', async () => {
    const failing = await scriptedServer((request, response) =>
      answer(response, request.method === 'POST' ? 202 : 200, {
        id: 'x',
        state: 'failed',
        error: 'no \u001b[2J space',
      }),
    );
    const failed = await run([command], failing.url);
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('failed: no \\u001b[2J space\n')]);
    const other = await scriptedServer((request, response) =>
      answer(response, 200, request.method === 'POST' ? { id: 'x', state: 'running' } : { state: 'idle' }),
    );
    const lost = await run([command], other.url);
    expect([lost.code, lost.stderr]).toEqual([1, expect.stringContaining('does not know this')]);
    const busy = await scriptedServer((_, response) =>
      answer(response, 409, { status: 409, code: 'conflict', message: 'a rebuild is running' }),
    );
    expect(await run([command], busy.url)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is running (conflict)'),
    });
    expect((await run([command], service.url, org.key)).code).toBe(4);
  });

  it('lets the service finish when it is interrupted', async () => {
    const { url } = await scriptedServer((_, response) => answer(response, 200, { id: 'x', state: 'running' }));
    const running = startSvc([command, '--verbose'], { env: env(url) });
    await running.until(({ stderr }) => stderr.includes('GET'));
    running.kill('SIGINT');
    const { code, stderr } = await running.ended;
    expect([code, stderr]).toEqual([130, expect.stringContaining('goes on in the service')]);
  });
});

describe('svc dead-letter', () => {
  /** Where the first of the letters is. */
  let first = 0;
  const place = (n: number) => `audit/0/${first + n}`;

  beforeAll(() =>
    behindItsBack(async (dataDir) => {
      const log = await EmbeddedEventLog.open({ file: join(dataDir, 'log.db') });
      const entries = Array.from({ length: 3 }, (_, n) => ({
        ...({ topic: 'audit', key: `k\u001b]0;${n}` } as const),
        headers: { v: '9' },
        value: Buffer.from(`${n}`),
      }));
      first = (await log.append(entries))[0]?.offset ?? 0;
      await log.close();
    }),
  );

  it('lists them without control characters', async () => {
    const { code, stdout } = await run(['dead-letter', 'list', '--ts', 'iso']);
    const rows = stdout.split('\n').filter(Boolean);
    expect([code, rows.length]).toEqual([0, 3]);
    const [at = '', ...cells] = rows[0]?.split('\t') ?? [];
    expect([at, cells[0]]).toEqual([place(0), expect.stringMatching(/^\d{4}-\S+Z$/)]);
    expect(cells.slice(1)).toEqual(['1', 'no', 'k\\u001b]0;0', 'has schema version 9, not 1']);
    expect((await run(['dead-letter', 'list', '-o', 'names', '--max', '2'])).stdout).toBe(`${place(0)}\n${place(1)}\n`);
  });

  it('shows them as the service sends them', async () => {
    const { stdout } = await run(['dead-letter', 'list', '--raw', '--max', '2', '-o', 'json']);
    const list = JSON.parse(stdout) as { kind: string; items: { value: string }[]; links: { rel: string }[] };
    expect(list).toMatchObject({ kind: 'list', itemKind: 'deadletter' });
    expect(list.items.map(({ value }) => Buffer.from(value, 'base64').toString())).toEqual(['0', '1']);
    expect(list.links.map(({ rel }) => rel)).toEqual(['self']);
    expect((await run(['dead-letter', 'list', '-o', 'yaml', '--max', '1'])).stdout).toContain(`place: ${place(0)}\n`);
  });

  it('replays one, some, and all that is open', async () => {
    const one = await run(['dead-letter', 'replay', place(0)]);
    expect(one).toMatchObject({ code: 0, stderr: 'replayed 1\n' });
    const [, replayed = ''] = /^\S+\t(audit\/0\/\d+)\n$/.exec(one.stdout) ?? [];
    expect(one.stdout).toBe(`${place(0)}\t${replayed}\n`);
    const again = await run(['dead-letter', 'replay', place(0)]);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('replayed before') });
    const forced = await run(['dead-letter', 'replay', place(0), '--force', '-o', 'names']);
    expect(forced.stdout).toMatch(/^audit\/0\/\d+\n$/);
    expect(forced.stdout).not.toBe(`${replayed}\n`);
    await at(service, org).publish({ resource: { name: 'after' } });
    const open = (await run(['dead-letter', 'list', '--open', '-o', 'names'])).stdout;
    expect(open.split('\n')).toEqual(expect.arrayContaining([place(1), place(2), replayed]));
    const all = await run(['dead-letter', 'replay', '--all', '-o', 'json']);
    expect(JSON.parse(all.stdout)).toMatchObject({ kind: 'deadletterreplay' });
    expect(all.stderr).toMatch(/^replayed \d\n$/);
    const unknown = await run(['dead-letter', 'replay', 'audit/0/1']);
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('places[0]: is not the place') });
  });

  it.each([
    [['replay'], 'give either the places of letters, or --all'],
    [['replay', 'audit/0/1', '--all'], 'give either the places of letters, or --all'],
    [['replay', '--all', '--force'], '--force needs places'],
    [['list', '-o', 'tf'], '--output tf is not available for dead letters'],
  ])('%j is a fault of usage', async (args, message) => {
    const { code, stderr } = await run(['dead-letter', ...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

it.each([['rebuild'], ['reconcile'], ['dead-letter list'], ['dead-letter replay']])(
  'svc %s --help',
  async (command) => {
    const { code, stdout } = await svc([...command.split(' '), '--help']);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`Examples\n`)]);
  },
);

describe('svc tlog check', () => {
  it('ends with 0 when the log is as it was sealed, and with 1 when a stored leaf was altered, which it names', async () => {
    let sound = await run(['tlog', 'check']);
    // Until the first cut.
    while (/^0\t/.test(sound.stdout)) sound = await run(['tlog', 'check']);
    expect([sound.code, sound.stdout]).toEqual([0, expect.stringMatching(/^\d+\t\d+\t\d+\n$/)]);
    await behindItsBack((dataDir) => {
      const db = new DatabaseSync(join(dataDir, 'tlog.db'));
      const { bytes } = db.prepare('SELECT bytes FROM cells WHERE tree = 0 AND level = 0 AND n = 0').get() ?? {};
      const altered = Buffer.from(bytes as Uint8Array);
      altered.writeUInt8(altered.readUInt8(80) ^ 1, 80);
      db.prepare('UPDATE cells SET bytes = ? WHERE tree = 0 AND level = 0 AND n = 0').run(altered);
      db.close();
    });
    const found = await run(['tlog', 'check']);

    expect(found.code).toBe(1);
    expect(found.stdout + found.stderr).toContain(`leaf 1 of ${org.name} is not what the log gives`);
  });

  it('stops signing when it has found something, and says so in the metrics, in /health/ready and to who asks for a proof', async () => {
    const url = (path: string) => fetch(service.url + path);
    const ready = await url('/health/ready');
    const { warnings } = (await ready.json()) as { warnings: string[] };
    expect([ready.status, warnings]).toEqual([
      200,
      [
        expect.stringMatching(/^no checkpoint is signed any more: svc tlog check found/),
        expect.stringMatching(/^a part of the log is not sealed: audit\/0\/\d+ has schema version 9/),
      ],
    ]);
    expect(warnings.join()).not.toContain(org.name);
    expect(await (await url('/metrics')).text()).toContain('control_tlog_diverged 1\n');
    const token = org.api.key ?? '';
    const { code, stderr } = await svc(
      ['audit', 'export', '--proof', '--file', join(service.dataDir, 'export.ndjson')],
      {
        env: { ...env(service.url, token), SVC_ORG: org.name },
      },
    );
    expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining('the log is not sealed any more')]);
    expect(code).not.toBe(0);
  });
});

describe('svc tlog', () => {
  const status = {
    ...{ kind: 'tlogstatus', seals: true, origin: 'o/audit/-tlog', epoch: 2, lagSeconds: 1.5, stalled: null },
    checkpoint: { size: 7, at: '2026-03-01T12:00:01.000Z', complete: '2026-03-01T12:00:00.000Z' },
    quorum: { name: 'both', missingSeconds: 301 },
    witnesses: [
      { name: 'one', cosigned: '2026-03-01T12:00:02.000Z' },
      { name: 'two', fault: 'is\u001baway' },
    ],
    anchors: [{ name: 'file:/a', kept: '2026-03-01T11:00:00.000Z' }, { name: 'file:/b' }],
  };

  it('status shows what is sealed, cosigned and anchored, and fails when nothing is signed any more', async () => {
    for (const [divergence, code] of [
      [null, 0],
      ['the log is an older one', 1],
    ] as const) {
      const { url } = await scriptedServer((_, response) =>
        answer(response, 200, { ...status, divergence, links: [] }),
      );
      const shown = await run(['tlog', 'status'], url);
      expect([shown.code, shown.stderr]).toEqual([code, '']);
      expect(shown.stdout).toMatch(/checkpoint: +7 cuts, made 2026-03-01T12:00:01.000Z\n/);
      expect(shown.stdout).toContain(divergence === null ? 'goes on' : 'STOPPED: the log is an older one');
      expect(shown.stdout).toMatch(/quorum: +both, missing for 301 s\n/);
      expect(shown.stdout).toMatch(/witness two: +has not cosigned; is\\u001baway\n/);
      expect(shown.stdout).toMatch(/anchor file:\/b: +nothing since the start\n$/);
    }
  });

  it('status is that of the service, whose trees were altered above', async () => {
    const { code, stdout } = await run(['tlog', 'status', '-o', 'json']);
    expect([code, JSON.parse(stdout)]).toEqual([
      1,
      expect.objectContaining({
        ...{ kind: 'tlogstatus', seals: true },
        divergence: expect.stringMatching(/^svc tlog check found/),
        stalled: expect.stringContaining('has schema version 9'),
      }),
    ]);
    expect((await run(['tlog', 'status'], undefined, org.api.key)).code).toBe(4);
  });

  it('rotate-key says where the key is replaced, and needs neither key nor service', async () => {
    const { code, stderr } = await svc(['tlog', 'rotate-key'], { env: {} });
    expect([code, stderr]).toEqual([1, expect.stringContaining('control-service rotate-key')]);
  });
});
