import type { LogEntry } from '../../src/event-log/event-log.js';
import { cpuEach, entriesOf, Topics } from './cluster-store.ts';
import { type Options, Rounds, say } from './figures.ts';

const AT_ONCE = 512;
const ENTRIES = 4_096;
const WARM_UP_SECONDS = 3;

type Append = (entry: LogEntry) => Promise<unknown>;

/** Single appends to the log, and one send of kafkajs an event, to the same topic in turns. */
export async function measureAppend(brokers: readonly string[], { rounds, seconds }: Options): Promise<Rounds> {
  const topics = new Topics(brokers);
  const log = await topics.open();
  const producer = await topics.producer();
  try {
    const entries = await entriesOf(ENTRIES, ENTRIES);
    const topic = `${topics.prefix}audit`;
    const batched: Append = (entry) => log.append([entry]);
    const single: Append = ({ key, headers, value }) =>
      producer.send({ topic, acks: -1, messages: [{ key, headers, value: Buffer.from(value) }] });
    const measure = (name: string, append: Append, label: string, time = seconds) =>
      appendFor(time, append, entries, `${label}: ${name}`);
    await measure('send', single, 'warm-up', WARM_UP_SECONDS);
    await measure('append', batched, 'warm-up', WARM_UP_SECONDS);
    const ratios = new Rounds();
    for (let round = 1; round <= rounds; round += 1) {
      const sent = await measure('send', single, `round ${round}`);
      const appended = await measure('append', batched, `round ${round}`);
      ratios.add([['batched-over-single-append', appended / sent]]);
    }
    return ratios;
  } finally {
    await producer.disconnect();
    await log.close();
    await topics.remove();
  }
}

/** Events a second. */
async function appendFor(
  seconds: number,
  append: Append,
  entries: readonly LogEntry[],
  label: string,
): Promise<number> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  const deadline = start + seconds * 1000;
  let count = 0;
  const one = async () => {
    while (performance.now() < deadline) {
      const entry = entries[count % entries.length];
      count += 1;
      if (entry) await append(entry);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  const perSecond = (count * 1000) / (performance.now() - start);
  say(`${label.padEnd(15)} ${perSecond.toFixed(0).padStart(6)} events/s, ${cpuEach(process.cpuUsage(cpu), count)}`);
  return perSecond;
}
