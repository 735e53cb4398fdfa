import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { startService } from '../support/service.js';

let parent: string;
let dataDir: string;

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'control-folder-'));
  dataDir = join(parent, 'data');
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

const modeOf = (path: string) => (statSync(path).mode & 0o7777).toString(8);
const modesIn = (folder: string) =>
  Object.fromEntries(readdirSync(folder).map((name) => [name, modeOf(join(folder, name))]));

/** What a start with a mask that closes nothing logs as warnings. */
async function startAndStop(check?: () => void): Promise<Record<string, unknown>[]> {
  const lines: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
  const mask = process.umask(0);
  try {
    const service = await startService({ dataDir, logger });
    check?.();
    await service.stop();
  } finally {
    process.umask(mask);
  }
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ was }) => was !== undefined);
}

test('a new data folder and all its files are for their owner alone, while the service runs and after', async () => {
  const check = () => {
    expect(modeOf(dataDir)).toBe('700');
    const modes = modesIn(dataDir);
    expect(Object.keys(modes)).toEqual(
      expect.arrayContaining([
        'log.db',
        'log.db-wal',
        'log.records',
        'log.audit_0.places',
        'read-model.db',
        'root.key',
      ]),
    );
    expect(new Set(Object.values(modes))).toEqual(new Set(['600']));
  };
  expect(await startAndStop(check)).toEqual([]);
  expect(new Set(Object.values(modesIn(dataDir)))).toEqual(new Set(['600']));
});

test('a data folder that was open to others is closed to them, with a warning for each thing', async () => {
  await startAndStop();
  chmodSync(dataDir, 0o755);
  for (const name of readdirSync(dataDir)) chmodSync(join(dataDir, name), 0o644);
  const warnings = await startAndStop(() => {
    expect(modeOf(dataDir)).toBe('700');
    expect(new Set(Object.values(modesIn(dataDir)))).toEqual(new Set(['600']));
  });
  expect(warnings).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ path: dataDir, was: '0755' }),
      expect.objectContaining({ path: join(dataDir, 'log.db'), was: '0644' }),
      expect.objectContaining({ path: join(dataDir, 'root.key'), was: '0644' }),
    ]),
  );
});

test('what a link in the data folder leads to keeps its mode', async () => {
  mkdirSync(dataDir);
  const elsewhere = join(parent, 'elsewhere');
  writeFileSync(elsewhere, '');
  chmodSync(elsewhere, 0o644);
  symlinkSync(elsewhere, join(dataDir, 'link'));
  await startAndStop();
  expect(modeOf(elsewhere)).toBe('644');
});

test.each([
  'log.db',
  'log.db-wal',
  'log.records',
  'log.audit_0.places',
  'read-model.db',
  'control.snapshot',
  'root.key',
  'service.secret',
])('a link in the place of %s is refused, and what it leads to stays as it is', async (name) => {
  mkdirSync(dataDir);
  const elsewhere = join(parent, 'elsewhere');
  writeFileSync(elsewhere, 'as it is');
  chmodSync(elsewhere, 0o666);
  symlinkSync(elsewhere, join(dataDir, name));
  await expect(startService({ dataDir })).rejects.toThrow(`${join(dataDir, name)}: is a link`);
  expect([modeOf(elsewhere), readFileSync(elsewhere, 'utf8')]).toEqual(['666', 'as it is']);
  expect(readdirSync(dataDir)).toEqual([name]);
});

test('a link to nothing and a folder in the place of a data file are refused', async () => {
  mkdirSync(dataDir);
  symlinkSync(join(parent, 'nothing'), join(dataDir, 'log.db'));
  await expect(startService({ dataDir })).rejects.toThrow('log.db: is a link');
  rmSync(join(dataDir, 'log.db'));
  mkdirSync(join(dataDir, 'read-model.db'));
  await expect(startService({ dataDir })).rejects.toThrow('read-model.db: is not a regular file');
});

test('a folder for everybody is refused, and left as it is', async () => {
  mkdirSync(dataDir);
  chmodSync(dataDir, 0o1777);
  await expect(startService({ dataDir })).rejects.toThrow('is a folder for everybody');
  expect([modeOf(dataDir), readdirSync(dataDir)]).toEqual(['1777', []]);
});
