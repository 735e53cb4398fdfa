import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedEventLog } from '../../src/event-log/embedded/event-log.js';
import { restoreLog } from '../../src/event-log/embedded/restore.js';
import { startService, type TestService } from '../support/service.js';
import { bodyOf, Client, type Event } from './client.js';
import { copyOfLog, type Expected, FIXTURES, fixture, orgAnswers, recordsOf } from './log-answers.js';
import { CONFLICTING, KEYED, KEYED_ORG, KEYED_REPEATED, ROOT_KEY } from './log-v1.js';

/**
 * Logs of every format. Their bytes are never rewritten, so every later version must pass these tests unchanged: neither the
 * tests, nor the logs, nor the answers may be changed to make them pass.
 */
describe.each(FIXTURES)('%s', (name) => {
  const expected = JSON.parse(readFileSync(join(fixture(name), 'expected.json'), 'utf8')) as Expected;
  let dataDir = '';
  let service: TestService;
  let acme: Client;

  const restart = async () => {
    service = await startService({ dataDir, env: { CONTROL_ROOT_KEY: ROOT_KEY } });
    acme = new Client(service.url, expected.orgs.acme?.key ?? '');
  };
  const appEvents = () => acme.all('/audit/org/acme?contextName=app&order=received&pageSize=1000');

  beforeEach(async () => {
    dataDir = copyOfLog(name);
  });
  afterEach(async () => {
    await service?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  test('gives back every record as it was appended', async () => {
    const { logId, records } = expected;

    expect(await recordsOf(join(dataDir, 'log.db'))).toEqual({ logId, records });
  });

  test('gives a backup that restores every record', async () => {
    const copy = mkdtempSync(join(tmpdir(), 'control-log-copy-'));
    const log = await EmbeddedEventLog.open({ file: join(dataDir, 'log.db') });
    await log.append([{ topic: 'audit', key: 'k', headers: { v: '1' }, value: Buffer.from('of this version') }]);
    const { heads } = await log.snapshot(join(copy, 'backup'));
    await log.close();
    const restored = await restoreLog({ from: join(copy, 'backup'), dataDir: join(copy, 'data'), force: false });

    expect(restored.heads).toEqual(heads);
    expect(await recordsOf(restored.file)).toEqual(await recordsOf(join(dataDir, 'log.db')));
    rmSync(copy, { recursive: true });
  });

  test.each(Object.keys(expected.orgs))('answers the key of %s with exactly what was answered then', async (org) => {
    await restart();
    const answers = expected.orgs[org];

    expect(await orgAnswers(service.url, org, answers?.key ?? '')).toEqual(answers);
  });

  test('keeps the organizations apart', async () => {
    await restart();

    expect((await acme.get('/audit/org/globex')).status).toBe(403);
  });

  test('knows a repeated event by its key, and another event with that key', async () => {
    await restart();
    const headers = { 'idempotency-key': KEYED.idempotencyKey };
    const before = await appEvents();
    const first = before.find(({ resource }) => resource.data?.['ü'] === 'é') as Event;

    expect(await acme.publish(KEYED.path, KEYED_REPEATED, headers)).toBe(first.id);
    const conflict = await acme.post(KEYED.path, CONFLICTING, headers);
    expect(bodyOf<{ code: string }>(conflict).code).toBe('idempotency_conflict');
    expect(await appEvents()).toEqual(before);
  });

  test('knows a repeated organization by its key, and shows its first API key no more', async () => {
    await restart();

    const headers = { 'idempotency-key': KEYED_ORG.idempotencyKey };
    const again = await new Client(service.url, ROOT_KEY).post('/org', { name: KEYED_ORG.name }, headers);

    expect(again.status).toBe(409);
    expect(again.text).not.toContain(acme.key);
  });

  test('goes on with what this version records', async () => {
    await restart();
    const before = await appEvents();
    const id = await acme.publish(KEYED.path, { resource: { name: 'of this version' } });
    await service.stop();
    await restart();

    const after = await appEvents();

    expect(after.slice(0, -1)).toEqual(before);
    expect(after.at(-1)?.id).toBe(id);
  });
});
