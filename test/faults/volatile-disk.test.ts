import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { syncFolder } from '../../src/platform/sqlite.js';
import { hasVolatileDisk, VolatileDisk } from '../support/volatile-disk/disk.js';

const PAGE = 4096;
/** So many cuts, each with other choices: what may survive does in some of them, what must survive does in all. */
const SEEDS = Array.from({ length: 24 }, (_, index) => index + 1);

const suite = hasVolatileDisk() ? describe : describe.skip;

/** What the power-loss test rests on: the disk forgets what it may, and nothing else. */
suite('the volatile disk', () => {
  let folder = '';
  let root = '';
  let disk: VolatileDisk;
  const path = (name: string) => join(root, name);
  const backing = () => join(folder, 'backing');
  const read = (name: string) => readFileSync(path(name), 'latin1');

  async function mount(): Promise<void> {
    folder = mkdtempSync(join(tmpdir(), 'control-volatile-'));
    root = join(folder, 'disk');
    disk = await VolatileDisk.mount(backing(), root);
  }

  async function unmount(): Promise<void> {
    await disk.unmount();
    rmSync(folder, { recursive: true, force: true });
  }

  async function remount(): Promise<void> {
    await disk.unmount();
    disk = await VolatileDisk.mount(backing(), root);
  }

  function write(name: string, text: string, at: number | null = null, sync: 'synced' | 'unsynced' = 'synced'): void {
    const file = openSync(path(name), existsSync(path(name)) ? 'r+' : 'w+');
    writeSync(file, text, at, 'latin1');
    if (sync === 'synced') fsyncSync(file);
    closeSync(file);
  }

  function keep(name: string, text: string): void {
    write(name, text);
    syncFolder(dirname(path(name)));
  }

  function writeAndSync(at: string, sync: (file: number) => void): void {
    keep(`${at}/file`, '');
    const file = openSync(path(`${at}/file`), 'r+');
    writeSync(file, 'y'.repeat(3 * PAGE));
    ftruncateSync(file, 2 * PAGE);
    sync(file);
    closeSync(file);
  }

  interface Case {
    /** Done in a new folder before each cut. */
    readonly work: (at: string) => void;
    /** What is left of it, after each cut. */
    readonly expectLeft: (left: readonly (string | undefined)[]) => void;
  }

  const survivesAs = (text: string) => (left: readonly (string | undefined)[]) =>
    expect(new Set(left)).toEqual(new Set([text]));

  /** The file that each leaves is `file`. */
  const CASES: Readonly<Record<string, Case>> = {
    'loses or keeps pages that were written since the last fsync, and may tear them between two sectors': {
      work: (at) => {
        keep(`${at}/file`, 'old '.repeat(PAGE));
        write(`${at}/file`, 'NEW '.repeat(PAGE / 4), PAGE, 'unsynced');
      },
      expectLeft: (left) => {
        for (const text of left) expect(text).toMatch(/^(old ){1024}.{4096}(old ){2048}$/);
        const pages = left.map((text) => text?.slice(PAGE, 2 * PAGE) ?? '');
        const torn = pages.filter((page) => page.includes('old') && page.includes('NEW'));
        expect(pages).toContain('old '.repeat(PAGE / 4));
        expect(pages).toContain('NEW '.repeat(PAGE / 4));
        expect(torn).not.toEqual([]);
        for (const page of torn) expect(page).toMatch(/^((old ){128}|(NEW ){128})+$/);
      },
    },
    'keeps any part of an appended text, and any size up to the new one': {
      work: (at) => {
        keep(`${at}/file`, 'begin');
        write(`${at}/file`, 'x'.repeat(5 * PAGE), 5, 'unsynced');
      },
      expectLeft: (left) => {
        for (const text of left) expect(text).toMatch(/^begin[x\0]*$/);
        expect([left.includes('begin'), left.includes(`begin${'x'.repeat(5 * PAGE)}`)]).toEqual([true, true]);
        expect(left.some((text) => text?.includes('\0x'))).toBe(true);
        expect(new Set(left.map((text) => text?.length)).size).toBeGreaterThan(3);
      },
    },
    'keeps the synced text of a page that was written again': {
      work: (at) => {
        keep(`${at}/file`, '');
        for (const text of ['one', 'two', 'three']) write(`${at}/file`, text, statSync(path(`${at}/file`)).size);
        write(`${at}/file`, 'four', 11, 'unsynced');
      },
      expectLeft: (left) => {
        for (const text of left) expect(text).toMatch(/^onetwothree/);
        expect(left).toContain('onetwothree');
        expect(left).toContain('onetwothreefour');
      },
    },
    'keeps what fdatasync covers': {
      work: (at) => writeAndSync(at, fdatasyncSync),
      expectLeft: survivesAs('y'.repeat(2 * PAGE)),
    },
    'keeps what fsync covers': {
      work: (at) => writeAndSync(at, fsyncSync),
      expectLeft: survivesAs('y'.repeat(2 * PAGE)),
    },
    'keeps every write to a file that was opened for synchronous ones': {
      work: (at) => {
        keep(`${at}/file`, '');
        const file = openSync(path(`${at}/file`), 'rs+');
        writeSync(file, 'at once');
        closeSync(file);
      },
      expectLeft: survivesAs('at once'),
    },
    'may undo a truncation that was not synced': {
      work: (at) => {
        keep(`${at}/file`, 'abcdef');
        const file = openSync(path(`${at}/file`), 'r+');
        ftruncateSync(file, 2);
        closeSync(file);
      },
      expectLeft: (left) => expect(left).toEqual(expect.arrayContaining(['abcdef', 'ab'])),
    },
    'may lose the name of a new file whose folder was not synced, though the file was': {
      work: (at) => write(`${at}/file`, 'a'),
      expectLeft: (left) => expect(new Set(left)).toEqual(new Set(['a', undefined])),
    },
    'keeps the name of a new file whose folder was synced': {
      work: (at) => keep(`${at}/file`, 'a'),
      expectLeft: survivesAs('a'),
    },
    'may undo a rename over another file, whole, if the folder was not synced': {
      work: (at) => {
        keep(`${at}/file`, 'old');
        keep(`${at}/new`, 'new');
        renameSync(path(`${at}/new`), path(`${at}/file`));
      },
      expectLeft: (left) => expect(new Set(left)).toEqual(new Set(['old', 'new'])),
    },
    'keeps a rename over another file, if the folder was synced': {
      work: (at) => {
        keep(`${at}/file`, 'old');
        keep(`${at}/new`, 'new');
        renameSync(path(`${at}/new`), path(`${at}/file`));
        syncFolder(path(at));
      },
      expectLeft: survivesAs('new'),
    },
    'may undo a removal whose folder was not synced': {
      work: (at) => {
        keep(`${at}/file`, 'text');
        unlinkSync(path(`${at}/file`));
      },
      expectLeft: (left) => expect(new Set(left)).toEqual(new Set(['text', undefined])),
    },
  };

  describe('after a cut', () => {
    const left: (string | undefined)[][] = [];
    beforeAll(async () => {
      await mount();
      for (const seed of SEEDS) {
        const folders = Object.keys(CASES).map((_, index) => `${seed}-${index}`);
        for (const at of folders) mkdirSync(path(at));
        syncFolder(root);
        for (const [index, { work }] of Object.values(CASES).entries()) work(folders[index] ?? '');
        await disk.cut(seed);
        await remount();
        left.push(folders.map((at) => (existsSync(path(`${at}/file`)) ? read(`${at}/file`) : undefined)));
      }
      await unmount();
    });

    test.each(Object.entries(CASES).map(([title, { expectLeft }], index) => ({ title, expectLeft, index })))(
      '$title',
      ({ expectLeft, index }) => expectLeft(left.map((ofCut) => ofCut[index])),
    );
  });

  describe('in use', () => {
    beforeEach(mount);
    afterEach(unmount);

    test('shows a program everything that it wrote, and keeps it over an orderly unmount', async () => {
      mkdirSync(path('a'));
      writeFileSync(path('a/b'), 'text'.repeat(3_000));
      renameSync(path('a/b'), path('a/c'));
      expect([readdirSync(path('a')), read('a/c')]).toEqual([['c'], 'text'.repeat(3_000)]);

      await remount();

      expect([readdirSync(path('a')), read('a/c')]).toEqual([['c'], 'text'.repeat(3_000)]);
    });

    test('leaves a removed file to those who have it open', () => {
      write('open', 'still there');
      const file = openSync(path('open'), 'r+');
      unlinkSync(path('open'));
      writeSync(file, 'STILL', 0);
      const bytes = Buffer.alloc(11);
      readSync(file, bytes, 0, 11, 0);
      closeSync(file);

      expect([bytes.toString(), existsSync(path('open'))]).toEqual(['STILL there', false]);
    });

    test('fails with EIO from the cut on', async () => {
      keep('file', 'text');
      const file = openSync(path('file'), 'r+');
      await disk.cut(1);

      for (const use of [
        () => writeSync(file, 'more'),
        () => fsyncSync(file),
        () => writeFileSync(path('other'), ''),
        () => readdirSync(root),
        () => unlinkSync(path('file')),
      ]) {
        expect(use).toThrow('EIO');
      }
      closeSync(file);
    });

    test('loses what a failed fsync covered, though it can still be read and a later fsync succeeds', async () => {
      keep('file', 'old');
      const failed = disk.failFsync('^fsync file$');
      await disk.steps();
      expect(() => write('file', 'NEW', 0)).toThrow('EIO');
      await failed;
      write('file', 'more', PAGE);
      expect(read('file').slice(0, 3)).toBe('NEW');
      await disk.cut(1);

      await remount();
      expect([read('file').slice(0, 3), read('file').slice(PAGE)]).toEqual(['old', 'more']);
    });

    test('is cut at the step that it is armed for', async () => {
      keep('file', '1');
      await disk.arm({ match: '^fsync file$', steps: 2, seed: 1 });
      write('file', '2', 1);
      expect(() => write('file', '3', 2)).toThrow('EIO');
      expect((await disk.cutOff).at).toBe('fsync file');

      await remount();
      expect(read('file')).toMatch(/^12/);
    });

    test('serves SQLite, which maps it too, and keeps what SQLite has synced', async () => {
      const db = new DatabaseSync(path('sql.db'));
      db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
      expect(db.prepare('PRAGMA mmap_size = 100000000').get()).toEqual({ mmap_size: 100_000_000 });
      db.exec('CREATE TABLE t (text)');
      const insert = db.prepare('INSERT INTO t VALUES (?)');
      for (let n = 0; n < 300; n += 1) insert.run(`${n} `.repeat(200));
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      for (let n = 0; n < 3; n += 1) insert.run(`${n}`);
      expect(db.prepare('SELECT sum(length(text)) AS sum FROM t').get()).toEqual({ sum: 218_000 + 3 });
      await disk.cut(3);
      expect(() => insert.run('lost')).toThrow('disk I/O error');
      db.close();
      await remount();

      const again = new DatabaseSync(path('sql.db'));
      expect(again.prepare('SELECT count(*) AS count FROM t').get()).toEqual({ count: 303 });
      expect(again.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
      again.close();
    });
  });
});
