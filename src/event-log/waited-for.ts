import type { LogEntry } from './event-log.js';

/** The header of an entry whose publisher waits until it is searchable. */
export const WAITED_FOR: LogEntry['headers'] = { sync: '1' };

export function isWaitedFor({ headers }: Pick<LogEntry, 'headers'>): boolean {
  return headers.sync === '1';
}
