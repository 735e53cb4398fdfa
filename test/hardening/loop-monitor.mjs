/**
 * Loaded into the service before it starts (`--import`): how long its event loop was held between two timers, in CPU time
 * of its thread, so that a machine that stands still does not count. Writes the longest, in milliseconds, to the file that
 * `LOOP_MONITOR` names at each SIGUSR2, and begins anew.
 */
import { renameSync, writeFileSync } from 'node:fs';

const file = process.env.LOOP_MONITOR;
let held = [];
let last = process.threadCpuUsage();

setInterval(() => {
  const now = process.threadCpuUsage();
  held.push((now.user - last.user + now.system - last.system) / 1_000);
  last = now;
}, 1).unref();

process.on('SIGUSR2', () => {
  const sorted = held.sort((a, b) => b - a);
  const at = (share) => sorted[Math.floor(sorted.length * share)] ?? 0;
  writeFileSync(`${file}.new`, JSON.stringify({ longest: sorted.slice(0, 5), p999: at(0.001), p99: at(0.01) }));
  renameSync(`${file}.new`, file);
  held = [];
});
