import { constants } from 'node:fs';
import { type FileHandle, link, lstat, open, rename, rm } from 'node:fs/promises';
import { ClientError } from '../../client/errors.js';
import { CliError, EXIT } from './failures.js';
import { fileFault } from './file-fault.js';

/** Creates a file that only its owner can read. Throws if the name is taken, also by a symbolic link. */
export function openNew(path: string): Promise<FileHandle> {
  return open(path, 'wx', 0o600);
}

/** Opens a file that an earlier run created; never follows a symbolic link. */
export async function openOwn(path: string): Promise<FileHandle> {
  const handle = await open(path, constants.O_RDWR | (constants.O_NOFOLLOW ?? 0)).catch((error) => {
    throw error.code === 'ELOOP' ? notOwn(path) : error;
  });
  const stats = await handle.stat();
  if (stats.isFile() && stats.nlink === 1) return handle;
  await handle.close();
  throw notOwn(path);
}

function notOwn(path: string): CliError {
  return new CliError(`${path} is not a file of this command: it is a link, or not a plain file`);
}

/** Throws if the name is taken, and says what to do about it. */
export async function requireAbsent(path: string, remedy: string): Promise<void> {
  const isThere = await lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
  if (isThere) throw new CliError(`${path} already exists; ${remedy}`);
}

/** Names the file in the errors of the file system. */
export async function writing<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ClientError) throw error;
    throw new CliError(`cannot write ${file}: ${fileFault(error)}`, EXIT.failure, [], { cause: error });
  }
}

/** Some file systems have no hard links. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

/** Gives a finished file its name. Throws `EEXIST` if another has it, unless that is to be replaced. */
export async function giveName(unfinished: string, path: string, replace = false): Promise<void> {
  if (replace) return rename(unfinished, path);
  try {
    await link(unfinished, path);
  } catch (error) {
    if (!NO_LINKS.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    await requireAbsent(path, 'it was created meanwhile');
    return rename(unfinished, path);
  }
  await rm(unfinished);
}
