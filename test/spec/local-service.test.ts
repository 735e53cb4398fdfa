import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { useLocalService } from '../../src/operator/local-service.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'control-local-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it('names the file of the root key that does not exist', () => {
  const env: NodeJS.ProcessEnv = { CONTROL_DATA_DIR: folder };
  expect(useLocalService(env)).toContain(join(folder, 'root.key'));
  expect(env.SVC_TOKEN).toBeUndefined();
});

it('takes the root key of the data folder', () => {
  writeFileSync(join(folder, 'root.key'), 'the-root-key\n');
  const env: NodeJS.ProcessEnv = { CONTROL_DATA_DIR: folder, CONTROL_HOST: '::', CONTROL_PORT: '9000' };
  expect(useLocalService(env)).toBeUndefined();
  expect(env).toMatchObject({ SVC_TOKEN: 'the-root-key', SVC_ENDPOINT: 'http://[::1]:9000' });
});

it('lets the settings of svc go first', () => {
  const env: NodeJS.ProcessEnv = { CONTROL_DATA_DIR: folder, SVC_TOKEN: 'mine', SVC_ENDPOINT: 'http://elsewhere' };
  expect(useLocalService(env)).toBeUndefined();
  expect(env).toMatchObject({ SVC_TOKEN: 'mine', SVC_ENDPOINT: 'http://elsewhere' });
});
