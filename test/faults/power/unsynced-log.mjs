/**
 * Preloaded, it makes a service of the kind that the test of power loss must find out: its log is synced `never`, or `late`,
 * after the log was told that it is.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync } from 'node:sqlite';

const late = process.env.TEST_LOG_SYNC === 'late';
const { exec } = DatabaseSync.prototype;
DatabaseSync.prototype.exec = function (sql) {
  exec.call(this, sql.replace(/synchronous\s*=\s*FULL/i, `synchronous = ${late ? 'NORMAL' : 'OFF'}`));
};

const { fdatasync } = fs;
fs.fdatasync = (fd, done) => {
  process.nextTick(done, null);
  if (late) setTimeout(() => fdatasync(fd, () => undefined), 500);
};
syncBuiltinESMExports();
