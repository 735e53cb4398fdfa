/** Preloaded, it makes a service of the kind that the test of power loss must find out: its log syncs less than it should. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { fdatasync } = fs;
const every = Number(process.env.TEST_SYNC_EVERY);
let count = 0;
fs.fdatasync = (fd, done) => {
  count += 1;
  if (count % every === 0) fdatasync(fd, done);
  else setImmediate(done, null);
};
syncBuiltinESMExports();
