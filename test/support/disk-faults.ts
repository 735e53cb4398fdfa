import { fstatSync, statSync } from 'node:fs';
import { disk } from '../../src/platform/disk.js';

/**
 * What the disk does with the next commits to a file: a number: it takes no byte beyond that size. `lost`: it fails and has
 * taken nothing; `done`: it has taken all, but reports a fault. After the last two, it removes nothing from the file either.
 */
export type DiskFault = number | 'lost' | 'done';

const faults = new Map<string, DiskFault>();

export function failDisk(file: string, fault: DiskFault): void {
  faults.set(file, fault);
}

export function repairDisk(file: string): void {
  faults.delete(file);
}

function faultOf(fd: number): DiskFault | undefined {
  if (faults.size === 0) return undefined;
  const { ino } = fstatSync(fd);
  return [...faults].find(([file]) => statSync(file, { throwIfNoEntry: false })?.ino === ino)?.[1];
}

function error(code: string): Error {
  return Object.assign(new Error('disk fault of the test'), { code, syscall: 'write' });
}

const { write, truncate, sync } = { ...disk };

Object.assign(disk, {
  write(fd, bytes, position) {
    const fault = faultOf(fd);
    if (fault === 'lost') throw error('EIO');
    if (typeof fault !== 'number' || position + bytes.byteLength <= fault) return write(fd, bytes, position);
    if (fault > position) write(fd, bytes.subarray(0, fault - position), position);
    throw error('ENOSPC');
  },
  truncate(fd, size) {
    if (typeof faultOf(fd) === 'string') throw error('EIO');
    truncate(fd, size);
  },
  async sync(fd) {
    if (faultOf(fd) === 'done') throw error('EIO');
    await sync(fd);
  },
} satisfies Partial<typeof disk>);
