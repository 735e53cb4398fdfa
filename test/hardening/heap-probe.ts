/**
 * Loaded into the service by `node --import`: at each SIGUSR2 it collects all garbage and writes what is left to the file
 * that `HEAP_FILE` names.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const file = process.env.HEAP_FILE ?? '';

process.on('SIGUSR2', () => {
  collect();
  // What the first one made weak is gone after a turn of the event loop and a second one.
  setImmediate(() => {
    collect();
    writeFileSync(`${file}.new`, JSON.stringify(process.memoryUsage()));
    renameSync(`${file}.new`, file);
  });
});
