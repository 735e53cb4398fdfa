import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { startService } from '../../src/composition/service.js';
import { readConfig } from '../../src/platform/config/config.js';
import { Api, type OrgBody } from '../support/api.js';
import { startService as startTestService } from '../support/service.js';

const ROOT = 'root-key-for-this-test-0123456789abcdef';

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'control-secrets-'));
});

afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

test('logs no key at the level trace, whatever the response', async () => {
  let logged = '';
  const sink = new Writable({
    write(chunk, _encoding, done) {
      logged += chunk;
      done();
    },
  });
  const config = readConfig({
    CONTROL_PORT: '0',
    CONTROL_DATA_DIR: dataDir,
    CONTROL_LOG_LEVEL: 'trace',
    CONTROL_ROOT_KEY: ROOT,
  });
  const service = await startService(config, pino({ level: 'trace' }, sink));
  const root = new Api(service.url, ROOT);
  const { body } = await root.post<OrgBody>('/org', { name: 'acme' }, { 'idempotency-key': 'once' });
  await root.post('/org', { name: 'acme' });
  await root.post('/org', '{"name":');
  await root.get('/audit/org/acme');
  const org = new Api(service.url, body.key);
  await org.post('/audit/org/acme/auditctx/app', { resource: { name: 'x' } });
  await org.get('/audit/org/acme/id/unknown');
  await org.get('/audit/org/other');
  await org.get('/nowhere');
  await new Api(service.url, 'svc_wrong-but-secret').get('/audit/org/acme');
  await service.stop();
  expect(logged).not.toBe('');
  for (const secret of [body.key, ROOT, 'svc_wrong-but-secret']) expect(logged).not.toContain(secret);
});

test('no file of the data folder contains a key of an organization', async () => {
  const service = await startTestService({ dataDir });
  const { body } = await new Api(service.url, service.rootKey).post<OrgBody>('/org', { name: 'acme' });
  await service.stop();
  const files = readdirSync(dataDir);
  expect(files).toContain('log.db');
  for (const file of files) expect(readFileSync(join(dataDir, file)).includes(body.key)).toBe(false);
});
