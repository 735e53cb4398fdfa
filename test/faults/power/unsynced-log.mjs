/** Preloaded, it makes a service of the kind that the test of power loss must find out: its log syncs less than it should. */
import { DatabaseSync } from 'node:sqlite';

const { exec } = DatabaseSync.prototype;
DatabaseSync.prototype.exec = function (sql) {
  exec.call(this, sql.replace(/synchronous\s*=\s*FULL/i, `synchronous = ${process.env.TEST_SYNCHRONOUS}`));
};
