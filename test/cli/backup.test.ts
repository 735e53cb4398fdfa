import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { at, newOrg, type Org } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';
import { answer, closeServers, scriptedServer } from './support/scripted-server.js';
import { MAIN, NODE, svc, temporaryFolder } from './support/svc.js';

let service: TestService;
let org: Org;
let folder: string;
let file: string;

beforeAll(async () => {
  service = await startService();
  org = await newOrg(service);
  await org.bulk(Array.from({ length: 200 }, (_, index) => ({ resource: { name: `n${index}` } })));
});
afterAll(() => service.remove());
beforeEach(() => {
  folder = temporaryFolder();
  file = join(folder, 'log-backup.db');
});
afterEach(closeServers);

const backup = (url = service.url, token = service.rootKey) =>
  svc(['backup', '--to', file, '--endpoint', url, '--token', token]);

function restore(...args: string[]): { code: number | null; stdout: string; stderr: string } {
  const main = join(dirname(MAIN), '../operator/main.js');
  const options = {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, CONTROL_DATA_DIR: join(folder, 'data') },
  } as const;
  const { status: code, stdout, stderr } = spawnSync(NODE, ['--no-warnings', main, 'restore', ...args], options);
  return { code, stdout, stderr };
}

it.each(['backup', 'rebuild', 'reconcile'])('control-service %s --help shows its own usage', (job) => {
  const main = join(dirname(MAIN), '../operator/main.js');
  const { stdout } = spawnSync(NODE, ['--no-warnings', main, job, '--help'], { encoding: 'utf8' });
  expect(stdout).toContain(`usage: control-service ${job} [options]\n`);
  expect(stdout).toContain(`see \`svc ${job} --help\``);
  expect(stdout).not.toContain('--token');
});

it('svc backup writes a file and its checksum, and the restore turns it into a data folder', async () => {
  const query = { order: 'received', pageSize: '1000' };
  // A cursor is sealed anew each time.
  const listed = async (of: Org) => (await of.list(query)).text.replace(/&cursor=[^"]+/, '');
  const before = await listed(org);
  const { code, stdout, stderr } = await backup();
  const sha256 = createHash('sha256').update(readFileSync(file)).digest('hex');
  expect([code, stdout]).toEqual([0, `${sha256}  log-backup.db\n`]);
  expect(stderr).toMatch(
    /^backed up \d+ bytes, records audit\/0: 200, control\/0: \d+, audit\.dead\/0: 0, checkpoints\/0: \d+\n$/,
  );
  expect(readFileSync(`${file}.sha256`, 'utf8')).toBe(stdout);
  expect(readdirSync(folder).sort()).toEqual(['log-backup.db', 'log-backup.db.sha256']);
  for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);

  const restored = restore('--from', file);
  expect([restored.code, restored.stdout]).toEqual([0, '']);
  expect(restored.stderr).toContain('audit/0: 200, control/0: ');
  // Not in the backup: without it, cursors that were given out before would be refused.
  copyFileSync(join(service.dataDir, 'service.secret'), join(folder, 'data/service.secret'));
  const again = await startService({ dataDir: join(folder, 'data') });
  expect(await listed(at(again, org))).toBe(before);
  await again.remove();
});

it('the restore explains a refusal in a sentence, and shows its usage', async () => {
  await backup();
  expect(restore()).toMatchObject({ code: 2, stderr: expect.stringContaining('usage: ') });
  expect(restore('--nope')).toMatchObject({ code: 2, stderr: expect.stringContaining('usage: ') });
  expect(restore('--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('usage: ') });
  expect(restore('--from', 'none')).toMatchObject({ code: 1, stderr: expect.stringContaining('none: does not exist') });
  expect(restore('--from', file).code).toBe(0);
  expect(restore('--from', file)).toMatchObject({ code: 1, stderr: expect.stringContaining('--force moves it aside') });
  expect(restore('--from', file, '--force')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('before-restore'),
  });
  writeFileSync(file, 'x', { flag: 'a' });
  const altered = restore('--from', file, '--data-dir', join(folder, 'other'));
  expect([altered.code, altered.stderr.split('\n').length]).toEqual([1, 2]);
  expect(altered.stderr).toContain('its SHA-256 is not');
  expect(existsSync(join(folder, 'other', 'log.db'))).toBe(false);
});

it('svc backup only creates new files, and follows no link', async () => {
  for (const suffix of ['', '.sha256', '.part']) {
    const target = join(folder, 'target');
    symlinkSync(target, file + suffix);
    const { code, stderr } = await backup();
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${file}${suffix} already exists`)]);
    expect(existsSync(target)).toBe(false);
    unlinkSync(file + suffix);
  }
  expect((await backup()).code).toBe(0);
  const first = readFileSync(file);
  expect((await backup()).code).toBe(1);
  expect(readFileSync(file).equals(first)).toBe(true);
});

it('svc backup leaves no partial file that looks whole', async () => {
  const cut = await scriptedServer((_, response) => {
    response.writeHead(200, { 'content-length': '1000', 'x-backup-sha256': 'x' }).write('part');
    setTimeout(() => response.destroy(), 20);
  });
  const other = await scriptedServer((_, response) => answer(response, 200, 'altered', { 'x-backup-sha256': 'x' }));
  const cutOff = await backup(cut.url);
  expect([cutOff.code, cutOff.stderr]).toEqual([
    1,
    expect.stringContaining('closed the connection before it answered'),
  ]);
  const altered = await backup(other.url);
  expect([altered.code, altered.stderr]).toEqual([1, expect.stringContaining('its SHA-256 differs')]);
  expect((await backup(service.url, org.key)).code).toBe(4);
  expect(readdirSync(folder)).toEqual([]);
  file = join(folder, 'none', 'x');
  expect(await backup()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`cannot write ${file}: there is no such file`),
  });
});

it('a restore to an earlier state goes on in a new epoch, with a key that can be replaced', async () => {
  const data = join(folder, 'data');
  const operate = (...args: string[]) => {
    const main = join(dirname(MAIN), '../operator/main.js');
    const env = { PATH: process.env.PATH, CONTROL_DATA_DIR: data };
    return spawnSync(NODE, ['--no-warnings', main, ...args], { encoding: 'utf8', env });
  };
  const notes = () =>
    existsSync(join(data, 'checkpoints.txt')) ? readFileSync(join(data, 'checkpoints.txt'), 'utf8') : '';
  /** Runs the service until it has signed something with that origin after the notes that were there. */
  const signed = async (origin: string) => {
    const before = notes();
    const running = await startService({ dataDir: data });
    try {
      await newOrg(running);
      while (!notes().slice(before.length).includes(`${origin}\n`)) await new Promise((done) => setTimeout(done, 20));
    } finally {
      await running.stop();
    }
  };
  const origin = () => /^(svc-.*\/-tlog)$/m.exec(notes())?.[1] ?? 'svc-';
  expect((await backup()).code).toBe(0);
  expect(restore('--from', file).code).toBe(0);
  // Without the key nothing is signed; a backup does not have it.
  copyFileSync(join(service.dataDir, 'checkpoint.key'), join(data, 'checkpoint.key'));
  await signed('/audit/-tlog');
  expect(restore('--from', file, '--force').code).toBe(0);
  const begun = restore('--new-epoch', 'a test');
  expect(begun.stderr).toContain(`epoch 2 begins; give its key to witnesses and auditors: ${origin()}/2+`);
  expect(begun.code).toBe(0);
  await signed(`${origin()}/2`);
  const rotated = operate('rotate-key');
  expect(rotated).toMatchObject({
    status: 0,
    stderr: expect.stringContaining('has a new key; the one before signs too until'),
  });
  await signed(`${origin()}/2`);
  expect(
    notes()
      .trimEnd()
      .split('\n')
      .slice(-2)
      .every((line) => line.startsWith(`— ${origin()}/2 `)),
  ).toBe(true);
  expect(restore().stderr).toContain('--from is required');
});
