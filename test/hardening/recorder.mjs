/**
 * A process that records events as fast as it can, so many at a time, and notes in a file what was acknowledged. It is killed
 * at any moment. At its end it writes the delay of its event loop.
 *
 *     node recorder.mjs '{"options": {...}, "run": "r1", "count": 1000, "notes": "FILE"}'
 */
import { openSync, writeSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { AuditClient } from '../../dist/client/index.js';

const AT_ONCE = 50;
const { options, run, count, notes } = JSON.parse(process.argv[2]);
const file = openSync(notes, 'a');
const audit = new AuditClient(options);
await audit.ready();
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
let next = 0;

async function record() {
  while (next < count) {
    const id = `${run}-${next++}`;
    const data = { id, what: 'an order was changed by the one who made it', fill: 'x'.repeat(next % 700) };
    await audit.record({ resource: { type: 'order', name: `order ${next % 100}`, data }, action: { type: 'edit' } });
    writeSync(file, `${id}\n`);
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, record));
delay.disable();
const recorded = { p50: delay.percentile(50) / 1e6, p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 };
await audit.flush();
await audit.close();
process.stdout.write(JSON.stringify(recorded));
