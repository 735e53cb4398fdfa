"""A disk that forgets, for tests of power loss: a FUSE file system that can lose everything that was not synced.

    disk.py BACKING MOUNTPOINT

Two states are kept. The durable one is in BACKING: one file of contents for each inode, and the tree of names. The volatile
one is in memory: pages written since the last fsync of their file, and names changed since the last fsync of their folder.
A program sees both. An fsync moves what belongs to one file, or one folder, to the durable state. As POSIX has it, the
fsync of a file does not keep its name: that takes an fsync of its folder.

A cut is the loss of power. Part of the volatile state may survive, chosen by a seed: the disk may have written any of it
already, in any order. A 4 KiB page may survive in an older version, or torn, in sectors of 512 bytes. A file may have its old
size, its new one, or one between them. From then on, everything fails with EIO until the disk is unmounted and mounted again.

Commands are JSON lines on standard input, each answered by one on standard output (`disk.ts` sends them):

    {"do": "cut", "seed": 7}                                   now
    {"do": "arm", "seed": 7, "steps": 3, "match": "fsync log"}  at the third step that matches; says so then
    {"do": "fail", "match": "fsync log"}                        the next fsync that matches fails
    {"do": "stall", "match": "fsync log"}                       the next fsync that matches takes until it is resumed
    {"do": "resume"}                                            and syncs nothing
    {"do": "steps"}                                             how many steps there were
    {"do": "unmount"}                                           an uncut disk syncs everything first

A failed fsync leaves its pages as Linux does: they can be read, and no later fsync writes them, unless they are written
again. They are lost at the cut.

A step is a change or an fsync, named "write log.db", "fsync log.db-wal", "rename a b" and so on.
"""

import errno
import json
import os
import random
import re
import stat
import sys
import time

import pyfuse3
import trio

PAGE = 4096
SECTOR = 512
# Older versions of a page that the disk may have written: enough for a page that grows with every append.
VERSIONS = 4
# Nobody else changes anything, so the kernel may remember.
REMEMBER_S = 300


def put(entries, name, inode):
    """Without an inode, the name is removed."""
    if inode is None:
        entries.pop(name, None)
    else:
        entries[name] = inode


class Inode:
    """A file or a folder: its durable contents, and what was changed since the last fsync."""

    def __init__(self, number, mode, blob):
        self.number = number
        self.mode = mode
        self.changed = time.time_ns()
        # Folders: names to inodes.
        self.entries = {}
        self.durable_entries = {}
        # Files. Below `kept`, bytes that no page covers are those of the durable file; above it they are zero.
        self.name = ''
        self.blob = blob
        self.durable_size = os.fstat(blob).st_size if blob is not None else 0
        self.size = self.kept = self.durable_size
        self.pages = {}
        # Pages that a failed fsync covered.
        self.given_up = set()

    @property
    def is_folder(self):
        return stat.S_ISDIR(self.mode)

    def base(self, number, kept):
        """A page of the durable file, of which only so much is left."""
        start = number * PAGE
        length = max(0, min(PAGE, kept - start))
        return os.pread(self.blob, length, start).ljust(PAGE, b'\0')

    def page(self, number):
        versions = self.pages.get(number)
        return versions[-1] if versions else self.base(number, self.kept)

    def read(self, offset, length):
        end = min(offset + length, self.size)
        if end <= offset:
            return b''
        pages = range(offset // PAGE, (end - 1) // PAGE + 1)
        if not any(number in self.pages for number in pages) and end <= self.kept:
            return os.pread(self.blob, end - offset, offset).ljust(end - offset, b'\0')
        first = pages[0] * PAGE
        return b''.join(self.page(number) for number in pages)[offset - first : end - first]

    def write(self, offset, data):
        at = 0
        while at < len(data):
            number, within = divmod(offset + at, PAGE)
            part = data[at : at + PAGE - within]
            page = bytearray(self.page(number))
            page[within : within + len(part)] = part
            self.pages[number] = [*self.pages.get(number, ())[-VERSIONS:], bytes(page)]
            self.given_up.discard(number)
            at += len(part)
        self.size = max(self.size, offset + len(data))
        self.changed = time.time_ns()

    def truncate(self, size):
        if size < self.size:
            last, within = divmod(size, PAGE)
            for number in [number for number in self.pages if number >= last]:
                if number == last and within > 0:
                    page = self.pages[number][-1][:within].ljust(PAGE, b'\0')
                    self.pages[number] = [*self.pages[number][-VERSIONS:], page]
                else:
                    del self.pages[number]
            self.kept = min(self.kept, size)
        self.size = size
        self.changed = time.time_ns()

    @property
    def is_dirty(self):
        return bool(self.pages) or self.size != self.durable_size or self.kept != self.durable_size

    def store(self, pages, kept, size):
        """Makes this the durable file, and there is nothing volatile any more."""
        os.ftruncate(self.blob, kept)
        for number, page in pages.items():
            os.pwrite(self.blob, page, number * PAGE)
        os.ftruncate(self.blob, size)
        self.pages = {number: self.pages[number] for number in self.given_up if number in self.pages}
        self.durable_size = self.size = self.kept = size

    def sync(self):
        if self.is_dirty:
            dirty = {number: versions[-1] for number, versions in self.pages.items() if number not in self.given_up}
            self.store(dirty, self.kept, self.size)

    def give_up(self):
        self.given_up = set(self.pages)

    def cut(self, chance, report):
        """Loses power: each unsynced page survives with this chance."""
        if not self.is_dirty:
            return
        # The truncation itself may not have reached the disk.
        kept = self.kept if chance() else self.durable_size
        survivors = {}
        for number, versions in self.pages.items():
            report['pages'] += 1
            if number in self.given_up or not chance():
                continue
            page = chance.pick(versions) if chance.damages() else versions[-1]
            if chance.damages():
                page = torn(self.base(number, kept), page, chance)
                report['torn'] += 1
            survivors[number] = page
            report['survived'] += 1
        least, most = sorted([kept, self.size])
        size = self.size if chance() else chance.pick([kept, least, chance.whole(least, most)])
        self.store(survivors, min(kept, size), size)


def torn(old, new, chance):
    """Some sectors of each."""
    sectors = range(0, PAGE, SECTOR)
    return b''.join((new if chance.one_in(2) else old)[at : at + SECTOR] for at in sectors)


class Chance:
    """Choices of one cut. How likely survival is differs from cut to cut: at times nothing survives, at times everything."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.likely = self.random.choice([0, 0, 0.1, 0.5, 0.9, 1])

    def __call__(self):
        return self.random.random() < self.likely

    def names(self, changes):
        """File systems that journal keep the order of changes. Others keep any of them."""
        kept = self.pick(['none', 'first', 'any'])
        if kept == 'any':
            return [change for change in changes if self.one_in(2)]
        return changes[: self.whole(0, len(changes))] if kept == 'first' else []

    def one_in(self, count):
        return self.random.random() * count < 1

    def damages(self):
        return self.likely < 1 and self.one_in(4)

    def pick(self, items):
        return self.random.choice(items)

    def whole(self, least, most):
        return self.random.randint(least, most)


class Disk(pyfuse3.Operations):
    def __init__(self, backing):
        super().__init__()
        self.backing = backing
        self.inodes = {}
        # Changes of names that no fsync has covered: (folder, name, inode or None) for each name of a change.
        self.changes = []
        self.steps = 0
        self.armed = None
        self.failing = None
        self.stalling = None
        self.resumed = trio.Event()
        self.is_cut = False
        self.synchronous = set()
        self.handles = 0
        self.load()

    # --- the durable state

    def load(self):
        tree = {'inodes': {'1': stat.S_IFDIR | 0o700}, 'entries': {'1': {}}, 'next': 2}
        file = os.path.join(self.backing, 'tree.json')
        if os.path.exists(file):
            with open(file, encoding='utf8') as saved:
                tree = json.load(saved)
        os.makedirs(os.path.join(self.backing, 'contents'), exist_ok=True)
        self.next = tree['next']
        for number, mode in tree['inodes'].items():
            self.inodes[int(number)] = Inode(int(number), mode, None if stat.S_ISDIR(mode) else self.blob(int(number)))
        for number, entries in tree['entries'].items():
            folder = self.inodes[int(number)]
            folder.durable_entries = dict(entries)
            folder.entries = dict(entries)
            for name, inode in entries.items():
                self.inodes[inode].name = name

    def save(self):
        """Forgets what no durable name leads to."""
        reached, todo = {}, [pyfuse3.ROOT_INODE]
        while todo:
            inode = self.inodes[todo.pop()]
            reached[inode.number] = inode
            todo.extend(inode.durable_entries.values())
        tree = {
            'inodes': {number: inode.mode for number, inode in reached.items()},
            'entries': {number: inode.durable_entries for number, inode in reached.items() if inode.is_folder},
            'next': self.next,
        }
        for name in os.listdir(os.path.join(self.backing, 'contents')):
            if int(name) not in reached:
                os.unlink(os.path.join(self.backing, 'contents', name))
        with open(os.path.join(self.backing, 'tree.json'), 'w', encoding='utf8') as file:
            json.dump(tree, file)

    def blob(self, number):
        return os.open(os.path.join(self.backing, 'contents', str(number)), os.O_RDWR | os.O_CREAT, 0o600)

    def keep(self, changes):
        for change in changes:
            for folder, name, inode in change:
                put(self.inodes[folder].durable_entries, name, inode)

    def sync_folder(self, number):
        mine = [change for change in self.changes if any(folder == number for folder, _, _ in change)]
        self.changes = [change for change in self.changes if change not in mine]
        self.keep(mine)

    def sync_all(self):
        for inode in self.inodes.values():
            if not inode.is_folder:
                inode.sync()
        self.keep(self.changes)
        self.changes = []

    # --- the loss of power

    def cut(self, seed, at):
        chance = Chance(seed)
        report = {'at': at, 'names': len(self.changes), 'namesKept': 0, 'pages': 0, 'survived': 0, 'torn': 0}
        survivors = chance.names(self.changes)
        report['namesKept'] = len(survivors)
        self.keep(survivors)
        self.changes = []
        for inode in self.inodes.values():
            if not inode.is_folder:
                inode.cut(chance, report)
        self.is_cut = True
        self.armed = None
        self.save()
        say({'cut': report})

    def arm(self, seed, steps, match):
        self.armed = {'seed': seed, 'steps': steps, 'match': re.compile(match)}

    def step(self, name):
        """Counts a change that was made in memory, or an fsync that was not yet. Fails if the power is lost at it."""
        self.steps += 1
        armed = self.armed
        if not armed or not armed['match'].search(name):
            return
        armed['steps'] -= 1
        if armed['steps'] <= 0:
            self.cut(armed['seed'], name)
            raise pyfuse3.FUSEError(errno.EIO)

    def powered(self):
        if self.is_cut:
            raise pyfuse3.FUSEError(errno.EIO)

    # --- names

    def folder(self, number):
        self.powered()
        return self.inodes[number]

    def entry(self, folder, name):
        number = self.folder(folder).entries.get(os.fsdecode(name))
        if number is None:
            raise pyfuse3.FUSEError(errno.ENOENT)
        return self.inodes[number]

    def change(self, *names):
        for folder, name, inode in names:
            put(self.inodes[folder].entries, name, inode)
            if inode is not None:
                self.inodes[inode].name = name
            self.inodes[folder].changed = time.time_ns()
        self.changes.append(names)

    def make(self, folder, name, mode):
        if os.fsdecode(name) in self.folder(folder).entries:
            raise pyfuse3.FUSEError(errno.EEXIST)
        number = self.next
        self.next += 1
        inode = Inode(number, mode, None if stat.S_ISDIR(mode) else self.blob(number))
        self.inodes[number] = inode
        self.change((folder, os.fsdecode(name), number))
        return inode

    async def lookup(self, parent, name, ctx=None):
        if name == b'.':
            return self.attributes(self.folder(parent))
        return self.attributes(self.entry(parent, name))

    async def mkdir(self, parent, name, mode, ctx):
        inode = self.make(parent, name, stat.S_IFDIR | stat.S_IMODE(mode & ~ctx.umask))
        self.step(f'mkdir {inode.name}')
        return self.attributes(inode)

    async def create(self, parent, name, mode, flags, ctx):
        inode = self.make(parent, name, stat.S_IFREG | stat.S_IMODE(mode & ~ctx.umask))
        self.step(f'create {inode.name}')
        return self.opened(inode, flags), self.attributes(inode)

    async def unlink(self, parent, name, ctx):
        inode = self.entry(parent, name)
        if inode.is_folder:
            raise pyfuse3.FUSEError(errno.EISDIR)
        self.change((parent, os.fsdecode(name), None))
        self.step(f'unlink {os.fsdecode(name)}')

    async def rmdir(self, parent, name, ctx):
        inode = self.entry(parent, name)
        if not inode.is_folder:
            raise pyfuse3.FUSEError(errno.ENOTDIR)
        if inode.entries:
            raise pyfuse3.FUSEError(errno.ENOTEMPTY)
        self.change((parent, os.fsdecode(name), None))
        self.step(f'rmdir {os.fsdecode(name)}')

    async def rename(self, parent, name, new_parent, new_name, flags, ctx):
        inode = self.entry(parent, name)
        there = self.folder(new_parent).entries.get(os.fsdecode(new_name))
        if flags & ~pyfuse3.RENAME_NOREPLACE:
            raise pyfuse3.FUSEError(errno.EINVAL)
        if there is not None and flags:
            raise pyfuse3.FUSEError(errno.EEXIST)
        if there is not None and self.inodes[there].entries:
            raise pyfuse3.FUSEError(errno.ENOTEMPTY)
        self.change((parent, os.fsdecode(name), None), (new_parent, os.fsdecode(new_name), inode.number))
        self.step(f'rename {os.fsdecode(name)} {os.fsdecode(new_name)}')

    async def opendir(self, number, ctx):
        self.folder(number)
        return number

    async def readdir(self, number, start, token):
        for at, (name, inode) in enumerate(sorted(self.folder(number).entries.items())):
            if at < start:
                continue
            if not pyfuse3.readdir_reply(token, os.fsencode(name), self.attributes(self.inodes[inode]), at + 1):
                return

    async def fsyncdir(self, number, datasync):
        self.folder(number)
        self.step(f'fsync {self.inodes[number].name or "/"}')
        self.sync_folder(number)

    # --- contents

    def attributes(self, inode):
        found = pyfuse3.EntryAttributes()
        found.st_ino = inode.number
        found.st_mode = inode.mode
        found.st_nlink = 1
        found.st_uid, found.st_gid = os.getuid(), os.getgid()
        found.st_size = inode.size
        found.st_blksize = PAGE
        found.st_blocks = (inode.size + SECTOR - 1) // SECTOR
        found.st_atime_ns = found.st_mtime_ns = found.st_ctime_ns = inode.changed
        found.entry_timeout = found.attr_timeout = REMEMBER_S
        return found

    async def getattr(self, number, ctx=None):
        self.powered()
        return self.attributes(self.inodes[number])

    async def setattr(self, number, attr, fields, handle, ctx):
        self.powered()
        inode = self.inodes[number]
        if fields.update_mode:
            inode.mode = stat.S_IFMT(inode.mode) | stat.S_IMODE(attr.st_mode)
        if fields.update_size:
            inode.truncate(attr.st_size)
            self.step(f'truncate {inode.name}')
        return self.attributes(inode)

    def opened(self, inode, flags):
        self.handles += 1
        handle = inode.number << 32 | self.handles
        if flags & (os.O_DSYNC | os.O_SYNC):
            self.synchronous.add(handle)
        # Through the page cache, or nothing could be mapped.
        return pyfuse3.FileInfo(fh=handle, direct_io=False, keep_cache=True)

    async def open(self, number, flags, ctx):
        self.powered()
        inode = self.inodes[number]
        if flags & os.O_TRUNC:
            inode.truncate(0)
            self.step(f'truncate {inode.name}')
        return self.opened(inode, flags)

    async def read(self, handle, offset, length):
        self.powered()
        return self.inodes[handle >> 32].read(offset, length)

    async def write(self, handle, offset, data):
        self.powered()
        inode = self.inodes[handle >> 32]
        inode.write(offset, data)
        self.step(f'write {inode.name}')
        if handle in self.synchronous:
            inode.sync()
        return len(data)

    async def fsync(self, handle, datasync):
        self.powered()
        inode = self.inodes[handle >> 32]
        self.step(f'fsync {inode.name}')
        if self.failing and self.failing.search(f'fsync {inode.name}'):
            self.failing = None
            inode.give_up()
            say({'failed': True})
            raise pyfuse3.FUSEError(errno.EIO)
        if self.stalling and self.stalling.search(f'fsync {inode.name}'):
            self.stalling = None
            say({'stalled': True})
            await self.resumed.wait()
            raise pyfuse3.FUSEError(errno.EIO)
        inode.sync()

    async def flush(self, handle):
        pass

    async def release(self, handle):
        self.synchronous.discard(handle)

    async def releasedir(self, handle):
        pass

    async def forget(self, inodes):
        pass

    async def access(self, number, mode, ctx):
        self.powered()
        return True

    async def statfs(self, ctx):
        self.powered()
        there = os.statvfs(self.backing)
        found = pyfuse3.StatvfsData()
        for field in ('f_bsize', 'f_frsize', 'f_blocks', 'f_bfree', 'f_bavail', 'f_files', 'f_ffree', 'f_favail'):
            setattr(found, field, getattr(there, field))
        return found


def say(message):
    sys.stdout.write(json.dumps(message) + '\n')
    sys.stdout.flush()


def obey(disk, command):
    """Whether the disk goes on."""
    what = command.pop('do')
    if what == 'unmount':
        return False
    if what == 'arm':
        disk.arm(**command)
        say({'armed': True})
    elif what == 'fail':
        disk.failing = re.compile(command['match'])
    elif what == 'stall':
        disk.stalling = re.compile(command['match'])
    elif what == 'resume':
        disk.resumed.set()
    elif what == 'steps':
        say({'steps': disk.steps})
    elif what == 'cut' and not disk.is_cut:
        disk.cut(command['seed'], 'any time')
    return True


async def control(disk):
    """Until standard input ends: then nobody is left to use the disk."""
    text = b''
    async with trio.lowlevel.FdStream(os.dup(0)) as stdin:
        async for part in stdin:
            *lines, text = (text + part).split(b'\n')
            if not all([obey(disk, json.loads(line)) for line in lines]):
                break
    pyfuse3.terminate()


async def serve(disk):
    async with trio.open_nursery() as nursery:
        nursery.start_soon(control, disk)
        say({'mounted': True})
        await pyfuse3.main()
        nursery.cancel_scope.cancel()


def main():
    backing, mountpoint = sys.argv[1:]
    disk = Disk(backing)
    pyfuse3.init(disk, mountpoint, {*pyfuse3.default_options, 'fsname=volatile-disk'})
    try:
        trio.run(serve, disk)
    finally:
        pyfuse3.close(unmount=True)
    if not disk.is_cut:
        disk.sync_all()
        disk.save()


main()
