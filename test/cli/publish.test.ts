import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  acceptBulk,
  answer,
  closeServers,
  type ScriptedServer,
  type SeenRequest,
  scriptedServer,
} from './support/scripted-server.js';
import { MAIN, NODE, svc, temporaryFolder } from './support/svc.js';

let server: ScriptedServer | undefined;
const serve = async (...args: Parameters<typeof scriptedServer>) => {
  server = await scriptedServer(...args);
  return { SVC_ENDPOINT: server.url, SVC_ORG: 'acme', SVC_TOKEN: 'token' };
};
const keys = ({ body }: SeenRequest): string[] =>
  body
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { idempotencyKey: string }).idempotencyKey);
const lines = (count: number) =>
  Array.from({ length: count }, (_, index) => `{"resource":{"name":"r${index}"}}`).join('\n');

afterEach(closeServers);

describe('svc audit publish', () => {
  it('sends each event as it is written, with the key of its line', async () => {
    const env = await serve(acceptBulk);
    const event = '{ "resource":{"name":"x"},"action":{"data":{"2":12345678901234567890,"1":1.10}} }';
    const { code, stdout, stderr } = await svc(['audit', 'publish', '-f', '-'], {
      env,
      input: `{"source":"s","event":${event}}\n`,
    });
    expect([code, stderr]).toEqual([0, 'published 1 (1 new, 0 recorded before), failed 0\n']);
    expect(stdout).toBe('default\t1\t0\tid-0\tid-0\n');
    const [request] = server?.seen ?? [];
    expect(request?.url).toBe('/audit/org/acme/auditctx/default/-bulk?async=false');
    expect(request?.headers).toMatchObject({ authorization: 'Bearer token', 'content-type': 'application/x-ndjson' });
    const key = `${createHash('sha256').update(`{"source":"s","event":${event}}`).digest('hex')}-1`;
    expect(request?.body).toBe(`{"idempotencyKey":"${key}","event":${event}}\n`);
  });

  it('sends requests of at most 500 events and 4 MiB', async () => {
    const env = await serve(acceptBulk);
    await svc(['audit', 'publish', '-f', '-', '--async', '--context', 'a.b'], { env, input: lines(1201) });
    expect(server?.seen.map((request) => keys(request).length)).toEqual([500, 500, 201]);
    expect(server?.seen[0]?.url).toBe('/audit/org/acme/auditctx/a.b/-bulk?async=true');
    const large = Array.from(
      { length: 9 },
      (_, i) => `{"resource":{"name":"${i}","data":{"x":"${'y'.repeat(1_000_000)}"}}}`,
    );
    await svc(['audit', 'publish', '-f', '-'], { env, input: large.join('\n') });
    expect(server?.seen.slice(3).map((request) => keys(request).length)).toEqual([4, 4, 1]);
  });

  it('sends the same events again after a service was busy or gone', async () => {
    const env = await serve((request, response, index) => {
      if (index === 0) return answer(response, 503, { status: 503, message: 'busy' }, { 'retry-after': '0' });
      if (index === 1) return answer(response, 429, { status: 429, message: 'slow' }, { 'retry-after': '0' });
      if (index === 2) return void response.destroy();
      return acceptBulk(request, response);
    });
    const { code, stderr } = await svc(['audit', 'publish', '-f', '-'], { env, input: lines(3) });
    expect([code, stderr, server?.seen.length]).toEqual([0, 'published 3 (3 new, 0 recorded before), failed 0\n', 4]);
    expect(new Set(server?.seen.map(({ body }) => body)).size).toBe(1);
  });

  it('gives up after its attempts', async () => {
    const env = await serve((_, response) =>
      answer(response, 503, { status: 503, message: 'busy', code: 'log_unavailable', id: 'r' }, { 'retry-after': '0' }),
    );
    const { code, stderr } = await svc(['audit', 'publish', '-f', '-'], { env, input: lines(3) });
    expect([code, stderr, server?.seen.length]).toEqual([
      1,
      'published 0 (0 new, 0 recorded before), failed 0\nerror: busy (log_unavailable, request r)\n',
      6,
    ]);
  });

  it('sends again only those events of a request that the service had no room for', async () => {
    const env = await serve((request, response, index) => {
      if (index > 0) return acceptBulk(request, response);
      const busy = { index: 1, status: 503, error: { status: 503, message: 'busy', code: 'log_unavailable' } };
      return answer(response, 200, {
        kind: 'bulkresult',
        items: [{ index: 0, status: 201, id: 'first' }, busy, { index: 2, status: 201, id: 'third' }],
      });
    });
    const { stdout } = await svc(['audit', 'publish', '-f', '-', '-o', 'json'], { env, input: lines(3) });
    expect(JSON.parse(stdout).items).toEqual([
      { line: 1, id: 'first', status: 201 },
      { line: 2, id: 'id-0', status: 201 },
      { line: 3, id: 'third', status: 201 },
    ]);
    const [first, second] = server?.seen.map(keys) ?? [];
    expect(second).toEqual([first?.[1]]);
  });

  it('narrows a refusal down to the line that caused it', async () => {
    const env = await serve((request, response) =>
      request.body.includes('"r2"')
        ? answer(response, 400, { status: 400, message: 'what is this', code: 'malformed_json' })
        : acceptBulk(request, response),
    );
    const { code, stdout, stderr } = await svc(['audit', 'publish', '-f', '-', '-o', 'names'], {
      env,
      input: lines(5),
    });
    expect([code, stdout.trim().split('\n').length]).toEqual([1, 4]);
    expect(stderr).toBe(
      'error: line 3: what is this (malformed_json)\npublished 4 (4 new, 0 recorded before), failed 1\n',
    );
  });

  it.each([
    [401, 4],
    [403, 4],
    [404, 1],
  ])('stops at the status %d', async (status, exit) => {
    const env = await serve((_, response) => answer(response, status, { status, message: 'no', code: 'c' }));
    const { code, stderr } = await svc(['audit', 'publish', '-f', '-'], { env, input: lines(1000) });
    expect([code, server?.seen.length]).toEqual([exit, 1]);
    expect(stderr).toContain('error: no (c)');
  });

  it('fails for an answer that does not fit the request', async () => {
    const env = await serve((_, response) => answer(response, 200, { kind: 'bulkresult', items: [] }));
    expect((await svc(['audit', 'publish', '-f', '-'], { env, input: lines(2) })).stderr).toContain(
      'does not fit the request',
    );
  });

  it('names faulty lines, publishes the others, ends with 1', async () => {
    const env = await serve(acceptBulk);
    const input = `${lines(1)}\nnot \u001b[2J json\n[1]\n{"resource":{"name":"last"}}`;
    const { code, stdout, stderr } = await svc(['audit', 'publish', '-f', '-', '-o', 'json'], { env, input });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      kind: 'publishresult',
      items: [
        { line: 1, id: 'id-0' },
        { line: 2, error: {} },
        { line: 3, error: {} },
        { line: 4, id: 'id-1' },
      ],
      succeeded: 2,
      failed: 2,
    });
    expect(stderr).toContain('error: line 2: not JSON');
    expect(stderr).toContain('error: line 3: not a JSON object');
    expect(stderr).toContain('published 2 (2 new, 0 recorded before), failed 2\n');
    expect(stderr).not.toContain('\u001b');
  });

  it('publishes one event from options, once under its key', async () => {
    const env = await serve(acceptBulk);
    const args = [
      '--resource-name',
      'a/b',
      '--resource-type',
      't',
      '--action-type',
      'go',
      '--result-status',
      'OK',
      '--subject-email',
      'a@b',
      '--event-time',
      '2024-01-01T00:00:00Z',
    ];
    await svc(['audit', 'publish', ...args, '--idempotency-key', 'k'], { env });
    expect(JSON.parse(server?.seen[0]?.body ?? '')).toEqual({
      idempotencyKey: 'k',
      event: {
        resource: { name: 'a/b', type: 't' },
        eventTime: '2024-01-01T00:00:00Z',
        subject: { email: 'a@b' },
        action: { type: 'go' },
        result: { status: 'OK' },
      },
    });
  });

  it('publishes an empty file', async () => {
    const env = await serve(acceptBulk);
    const { code, stdout } = await svc(['audit', 'publish', '-f', '-', '-o', 'yaml'], { env });
    expect([code, stdout, server?.seen.length]).toEqual([
      0,
      'kind: publishresult\nitems: []\nsucceeded: 0\nfailed: 0\n',
      0,
    ]);
  });

  it('names a missing file', async () => {
    const env = await serve(acceptBulk);
    const { code, stderr } = await svc(['audit', 'publish', '-f', '/nowhere/x.ndjson'], { env });
    expect([code, stderr]).toEqual([1, expect.stringContaining('cannot read /nowhere/x.ndjson')]);
  });

  it('continues when nobody reads its output', async () => {
    const env = await serve(acceptBulk);
    const file = join(temporaryFolder(), 'events.ndjson');
    writeFileSync(file, lines(20_000));
    const { code, stderr } = await svc(['audit', 'publish', '-f', file, '-o', 'json'], { env, closeAfter: 1 });
    expect([code, stderr, server?.seen.length]).toEqual([
      0,
      'published 20000 (20000 new, 0 recorded before), failed 0\n',
      40,
    ]);
  });

  it('says where it stopped when interrupted', async () => {
    const env = await serve((request, response, index) => (index < 1 ? acceptBulk(request, response) : undefined));
    const file = join(temporaryFolder(), 'events.ndjson');
    writeFileSync(file, lines(2000));
    const child = spawn(NODE, [MAIN, 'audit', 'publish', '-f', file], {
      env: { PATH: process.env.PATH ?? '', ...env },
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    while ((server?.seen.length ?? 0) < 2) await new Promise((later) => setTimeout(later, 20));
    child.kill('SIGINT');
    const code = await new Promise((closed) => child.on('close', closed));
    expect([code, stderr]).toEqual([
      130,
      'published 500 (500 new, 0 recorded before), failed 0\nto go on, run it again: what is recorded is not recorded twice\n',
    ]);
  });
});
