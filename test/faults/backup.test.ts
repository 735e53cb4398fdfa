import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { EmbeddedEventLog } from '../../src/event-log/embedded/event-log.js';
import { RecordsFile } from '../../src/event-log/embedded/records-file.js';
import { restoreLog } from '../../src/event-log/embedded/restore.js';
import { randomOf } from '../support/random.js';
import { startService, type TestService } from '../support/service.js';
import { bodyOf, Client, type Event } from './client.js';
import { answersOf, answersOn, copyOf, type DataFolder, eventOf, filledFolder, flipBit, ORG } from './data-folder.js';
import { Load } from './load.js';
import { World } from './world.js';

let whole: DataFolder;
let folder = '';

beforeAll(async () => {
  whole = await filledFolder();
});
afterAll(() => rmSync(whole.dataDir, { recursive: true, force: true }));
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'control-backup-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Downloaded {
  readonly file: string;
  readonly sha256: string;
  readonly heads: Readonly<Record<string, number>>;
}

async function backup({ url, rootKey }: Pick<TestService, 'url' | 'rootKey'>): Promise<Downloaded> {
  const response = await fetch(`${url}/-backup`, { headers: { authorization: `Bearer ${rootKey}` } });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  const bytes = Buffer.from(await response.arrayBuffer());
  const file = join(folder, 'backup.db');
  writeFileSync(file, bytes);
  const heads = (response.headers.get('x-backup-heads') ?? '').split(',').map((one) => one.split('='));
  return {
    file,
    sha256: response.headers.get('x-backup-sha256') ?? '',
    heads: Object.fromEntries(heads.map(([partition, next]) => [partition, Number(next)])),
  };
}

const fresh = () => join(folder, 'data');
const restore = (from: string, more: { dataDir?: string; sha256?: string; force?: boolean } = {}) =>
  restoreLog({ from, dataDir: fresh(), force: false, ...more });

/** A copy of the filled folder with a service on it. */
async function serving(work: (service: TestService, copy: DataFolder) => Promise<void>): Promise<void> {
  const copy = copyOf(whole);
  const service = await startService({ dataDir: copy.dataDir });
  try {
    await work(service, copy);
  } finally {
    await service.stop();
    rmSync(copy.dataDir, { recursive: true, force: true });
  }
}

describe('a backup', () => {
  test('restored into another folder gives every answer as it was, byte for byte', async () => {
    await serving(async (service) => {
      const { file, sha256, heads } = await backup(service);
      expect(createHash('sha256').update(readFileSync(file)).digest('hex')).toBe(sha256);
      // The organization, and perhaps the first use of its key.
      expect(heads).toMatchObject({ 'audit/0': 301, 'control/0': expect.any(Number) });

      const restored = await restore(file, { sha256 });

      expect(restored.heads).toEqual(heads);
      expect(readdirSync(fresh()).sort()).toEqual([
        'log.audit_0.places',
        'log.audit_dead_0.places',
        'log.checkpoints_0.places',
        'log.control_0.places',
        'log.db',
        'log.records',
      ]);
      // Not in the backup: without it, cursors that were given out before would be refused.
      copyFileSync(join(whole.dataDir, 'service.secret'), join(fresh(), 'service.secret'));
      expect(await answersOn({ ...whole, dataDir: fresh() })).toBe(whole.answers);
    });
  });

  test('leaves nothing behind in the data folder', async () => {
    await serving(async (service, { dataDir }) => {
      const before = readdirSync(dataDir).sort();
      await backup(service);
      for (let tries = 0; readdirSync(dataDir).length > before.length && tries < 100; tries += 1) await delay(20);
      expect(readdirSync(dataDir).sort()).toEqual(before);
    });
  });

  test('is for the root key alone', async () => {
    await serving(async ({ url }, { key }) => {
      expect((await new Client(url, key).get('/-backup')).status).toBe(403);
      expect((await fetch(`${url}/-backup`)).status).toBe(401);
    });
  });

  test('can be taken again when a client went away in the midst of one', async () => {
    await serving(async ({ url, rootKey }) => {
      const client = new Client(url, rootKey);
      for (const wait of [0, 1, 3, 10, 30]) {
        const headers = { authorization: `Bearer ${rootKey}` };
        const leaving = request(`${url}/-backup`, { headers, agent: false }).on('error', () => undefined);
        leaving.on('response', (response) => response.on('error', () => undefined)).end();
        await delay(wait);
        leaving.destroy();
        for (let tries = 0; ; tries += 1) {
          const { status } = await client.get('/-backup');
          if (status === 200) break;
          expect([status, tries < 50]).toEqual([409, true]);
          await delay(20);
        }
      }
    });
  });

  test('begins though one commit follows the other', async () => {
    const log = await EmbeddedEventLog.open({ file: join(folder, 'log.db') });
    let appending = true;
    const appends = (async () => {
      const entry = { topic: 'audit', key: 'k', headers: { v: '1' }, value: Buffer.alloc(1_000) } as const;
      while (appending) await log.append([entry, entry]);
    })();
    for (let round = 0; round < 20; round += 1) {
      const before = (await log.head('audit'))[0] ?? 0;
      const { heads } = await log.snapshot(join(folder, `copy-${round}.db`));
      expect(heads['audit/0']).toBeGreaterThanOrEqual(before);
    }
    appending = false;
    await appends;
    await log.close();
  });

  test('taken while clients publish has everything that was acknowledged before it, unaltered', async () => {
    const service = await startService();
    try {
      const world = new World();
      const admin = new Client(service.url, service.rootKey);
      world.orgs.set('first', (await admin.org('first')).key);
      const load = new Load(world, service.url, service.rootKey, 1, randomOf(7));
      const running = load.run();
      while (world.counts.acknowledged < 150) await delay(5);
      const before = [...world.sent.values()]
        .filter(({ ids }) => ids.size > 0)
        .map((sent) => ({ sent, ids: [...sent.ids] }));
      const orgs = [...world.orgs.keys()];
      const { file, sha256, heads } = await backup(service);
      load.end();
      await running;
      expect(world.faults).toEqual([]);
      const acknowledged = [...world.sent.values()].filter(({ ids }) => ids.size > 0).length;
      expect(acknowledged).toBeGreaterThan(before.length);

      await restore(file, { sha256 });
      const restored = await startService({ dataDir: fresh() });
      try {
        for (const { sent, ids } of before) {
          const client = new Client(restored.url, world.orgs.get(sent.org) ?? '');
          for (const id of ids) {
            const { status, text, headers } = await client.get(`/audit/org/${sent.org}/id/${id}`);
            expect([id, status]).toEqual([id, 200]);
            world.check(bodyOf<{ item: Event }>({ status, text, headers }).item, sent.org);
          }
        }
        for (const org of orgs) {
          const client = new Client(restored.url, world.orgs.get(org) ?? '');
          expect((await client.get(`/org/${org}`)).status).toBe(200);
          for (const event of await client.all(`/audit/org/${org}?order=received&pageSize=1000`)) {
            if (event.context.name !== 'svc') world.check(event, org);
          }
        }
        expect(world.faults).toEqual([]);
        expect(heads['audit/0']).toBeGreaterThanOrEqual(before.length);
      } finally {
        await restored.stop();
      }
    } finally {
      await service.remove();
    }
  });
});

describe('a restore', () => {
  let made: Downloaded;
  beforeEach(() =>
    serving(async (service) => {
      made = await backup(service);
    }),
  );

  const nothingDone = () => expect(existsSync(fresh()) ? readdirSync(fresh()) : []).toEqual([]);

  test.each(['event-123-end', '"org-created"'])(
    'refuses a backup whose %s was altered, by its checksum',
    async (text) => {
      flipBit(made.file, text);
      await expect(restore(made.file)).rejects.toMatchObject({ message: expect.stringContaining('was altered') });
      nothingDone();
    },
  );

  test('leaves a log of which a start reads only the end', async () => {
    await restore(made.file);
    const { commits } = RecordsFile.prototype;
    const from: number[] = [];
    RecordsFile.prototype.commits = function (this: RecordsFile, start, size) {
      from.push(start);
      return commits.call(this, start, size);
    };
    try {
      await (await EmbeddedEventLog.open({ file: join(fresh(), 'log.db') })).close();
    } finally {
      RecordsFile.prototype.commits = commits;
    }

    expect(from).toEqual([statSync(join(fresh(), 'log.records')).size]);
  });

  test('refuses a backup that lost its last records', async () => {
    const whole = readFileSync(made.file);
    for (const bytes of [1, 100, 5_000, 100_000]) {
      writeFileSync(made.file, whole.subarray(0, whole.length - bytes));
      await expect(restore(made.file)).rejects.toThrow(/missing/);
    }
    nothingDone();
  });

  test('refuses a backup that is not the one that was made', async () => {
    await expect(restore(made.file, { sha256: '0'.repeat(64) })).rejects.toThrow('SHA-256');
    writeFileSync(made.file, readFileSync(made.file).subarray(0, 100_000));
    await expect(restore(made.file)).rejects.toMatchObject({ name: 'CorruptRecord' });
    writeFileSync(made.file, '');
    await expect(restore(made.file)).rejects.toThrow('holds no log');
    await expect(restore(join(folder, 'none'))).rejects.toThrow('does not exist');
    nothingDone();
  });

  test('leaves a log that is there alone, unless it is told to move it aside', async () => {
    const copy = copyOf(whole);
    const service = await startService({ dataDir: copy.dataDir });
    await new Client(service.url, copy.key).publish(`/audit/org/${ORG}/auditctx/app`, eventOf('after the backup'));
    await expect(restore(made.file, { dataDir: copy.dataDir, force: true })).rejects.toThrow('another process uses it');
    await service.stop();
    const before = readFileSync(copy.records);
    await expect(restore(made.file, { dataDir: copy.dataDir })).rejects.toThrow('--force');
    expect(readFileSync(copy.records).equals(before)).toBe(true);

    const { movedTo = '' } = await restore(made.file, { dataDir: copy.dataDir, force: true });

    expect(readFileSync(join(movedTo, 'log.records')).includes('after the backup')).toBe(true);
    expect(await answersOn(copy)).toBe(whole.answers);
    rmSync(copy.dataDir, { recursive: true, force: true });
  });

  test('keeps a service from starting on the log that it is about to move aside', async () => {
    const copy = copyOf(whole);
    const restoring = restore(made.file, { dataDir: copy.dataDir, force: true });
    await expect(EmbeddedEventLog.open({ file: copy.log })).rejects.toThrow('another process uses it');
    await restoring;

    expect(await answersOn(copy)).toBe(whole.answers);
    rmSync(copy.dataDir, { recursive: true, force: true });
  });

  test('takes the place of a log that cannot be opened', async () => {
    const copy = copyOf(whole);
    writeFileSync(copy.log, 'garbage');
    await restore(made.file, { dataDir: copy.dataDir, force: true });
    const again = await startService({ dataDir: copy.dataDir });
    expect(await answersOf(new Client(again.url, copy.key))).toBe(whole.answers);
    await again.stop();
    rmSync(copy.dataDir, { recursive: true, force: true });
  });
});
