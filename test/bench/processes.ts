/** What the kernel counts of processes. It needs Linux; elsewhere everything is undefined. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** The kernel counts CPU time in hundredths of a second, on every Linux that Node runs on. */
const MS_A_TICK = 10;

interface Stat {
  readonly parent: number;
  readonly ownMs: number;
  /** Of the children that ended and were waited for. */
  readonly endedMs: number;
}

function statOf(pid: number | string): Stat | undefined {
  try {
    // The second field, the program's name, may hold anything; the others follow its closing parenthesis.
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\) /s, '');
    const [, parent = 0, , , , , , , , , , user = 0, system = 0, endedUser = 0, endedSystem = 0] = text
      .split(' ')
      .map(Number);
    return { parent, ownMs: (user + system) * MS_A_TICK, endedMs: (endedUser + endedSystem) * MS_A_TICK };
  } catch {
    return undefined;
  }
}

/** User and system time of a process with all its threads so far, in milliseconds. */
export function cpuOf(pid: number): number | undefined {
  return statOf(pid)?.ownMs;
}

/** The same of a process and its children, those included that have ended. */
export function cpuOfTree(pid: number): number | undefined {
  const root = statOf(pid);
  if (!root) return undefined;
  const all = readdirSync('/proc').map((name) => (/^\d+$/.test(name) ? statOf(name) : undefined));
  const children = all.filter((stat) => stat?.parent === pid);
  return children.reduce((sum, stat) => sum + (stat ? stat.ownMs + stat.endedMs : 0), root.ownMs + root.endedMs);
}

/**
 * Bytes that this process and the children that it has waited for sent to the disk, or would have but for a later write
 * to the same page. Before and after the life of a child, the difference is what the child wrote, to its last byte.
 */
export function writtenBytes(): number | undefined {
  if (!existsSync('/proc/self/io')) return undefined;
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync('/proc/self/io', 'latin1'))?.[1]);
}
