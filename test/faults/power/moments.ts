import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../support/random.js';
import type { Client } from '../client.js';
import type { Load } from '../load.js';
import type { PoweredService } from './powered-service.js';

/** What goes on, beside the load, when the power fails. */
export interface Moment {
  readonly name: string;
  /** Which changes and fsyncs of files count, and at which of them the power fails at the latest. Without: after `also`. */
  readonly match?: string;
  readonly steps?: number;
  also?(at: At): Promise<unknown>;
}

interface At {
  readonly service: PoweredService;
  readonly load: Load;
  /** With the root key. */
  readonly admin: Client;
  readonly random: Random;
}

/** The service is so long at it that it notes where the log ends. */
const MUCH_BYTES = 9 * 1024 * 1024;

const LONGEST_AFTER_FAULT_MS = 1_500;

const publishMuch = ({ load }: At) => load.large(MUCH_BYTES);
const rebuild = ({ admin }: At) => admin.post('/-rebuild', {});
const backup = ({ admin }: At) => admin.get('/-backup');
/** The load goes on upon a log of which the system has given up some pages. */
const failFsync = async ({ service, random }: At) => {
  await Promise.race([service.disk.failFsync('^fsync log\\.(records|db-wal)$'), service.disk.cutOff]);
  await delay(random.whole(0, LONGEST_AFTER_FAULT_MS));
};
const stop = async ({ service }: At) => service.process.kill('SIGTERM');

export const MOMENTS: readonly Moment[] = [
  { name: 'any time' },
  { name: 'a write to the log', match: '^write log\\.', steps: 500 },
  { name: 'an fsync of the log', match: '^fsync log\\.', steps: 25 },
  { name: 'a note of where the log ends', match: 'log\\.(db|.*\\.places)', steps: 40, also: publishMuch },
  { name: 'a write to the read model', match: 'read-model\\.db', steps: 700 },
  { name: 'a checkpoint', match: '^(write|fsync|truncate) (log|read-model)\\.db$', steps: 400, also: publishMuch },
  { name: 'an orderly stop', match: '.', steps: 400, also: stop },
  { name: 'the checkpoints of a stop', match: '(log|read-model)\\.\\w+$|unlink|snapshot', steps: 150, also: stop },
  { name: 'a rebuild', match: 'read-model\\.db\\.next', steps: 300, also: rebuild },
  { name: 'the end of a rebuild', match: '(fsync|unlink|rename|truncate) read-model', steps: 12, also: rebuild },
  { name: 'some time after a failed fsync', also: failFsync },
  { name: 'a backup', match: 'backup', steps: 60, also: backup },
];
