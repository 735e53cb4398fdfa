import { setTimeout as delay } from 'node:timers/promises';
import { randomOf, SEED } from '../../support/random.js';
import { bodyOf, Client } from '../client.js';
import { removeCompiled } from '../process.js';
import { eventually, MINUTES, outageSuite, ROUNDS, report, SECONDS } from './cluster.js';
import { bodyFor, Ledger, ORG, PUBLISH } from './ledger.js';
import { Load } from './load.js';
import { CampaignStack, FAULTS, type Fault } from './stack.js';

/** Publishes that are found at once, on resources of as many names: every partition has some of them. */
const PROBES = 12;

/** Milliseconds. */
interface Times {
  /** From the beginning of the fault until every partition is indexed at once again for who asks the other api. */
  readonly around: number;
  /** From the end of the fault until all is as before. */
  readonly after: number;
}

outageSuite('every kind of fault of a process, a connection and a store, under load', () => {
  const stack = new CampaignStack();
  const random = randomOf(SEED);
  const ledger = new Ledger();
  const table: string[] = [];
  let key: string;
  let loads: readonly [Load, Load];

  beforeAll(async () => {
    await stack.start();
    key = await stack.org();
    loads = [load(stack.url('api')), load(stack.url('other api'))];
  }, 5 * MINUTES);

  afterAll(async () => {
    await Load.stopAll();
    await stack.remove();
    removeCompiled();
    process.stdout.write(`${['| fault | others serve after | recovered after |', ...table].join('\n')}\n`);
  }, 3 * MINUTES);

  const load = (url: string) => {
    const options = { urls: [url], key, ledger, random, clients: 2, restMs: 60, perSecond: 5 };
    return new Load(options).start();
  };

  /** Whether an event of every partition is found as soon as it is recorded, and lists are served. */
  async function serves(url: string, what: string): Promise<boolean> {
    const client = new Client(url, key);
    const statuses = await Promise.all(
      Array.from({ length: PROBES }, async (_, at) => {
        const sent = ledger.add(`${what} ${at} ${Date.now()}`, `probe ${at}`);
        const answer = await client.post(PUBLISH, bodyFor(sent));
        if (answer.status < 300) ledger.acknowledge(sent, bodyOf<{ id: string }>(answer).id);
        return answer.status;
      }),
    );
    return statuses.every((status) => status === 201) && (await client.get(`/audit/org/${ORG}`)).status === 200;
  }

  /** The process is ready, or says that it is not, within a second of being asked, whatever has happened to a store. */
  async function expectHealth(fault: Fault): Promise<void> {
    if (!fault.unready) return;
    await delay(SECONDS);
    for (const path of ['/health/ready', '/metrics']) {
      const asked = performance.now();
      const { status } = await fetch(stack.url(fault.unready) + path);
      const expected = path === '/metrics' ? 200 : 503;
      // A metric that cannot be read is left out after 2 s.
      const isLate = performance.now() - asked > (path === '/metrics' ? 3 : 1) * SECONDS;
      if (status !== expected || isLate) {
        ledger.faults.push(`${fault.name}: ${path} was answered ${status} after ${performance.now() - asked} ms`);
      }
    }
  }

  async function round(fault: Fault, number: number): Promise<Times> {
    const what = `${fault.name} ${number}`;
    for (const [at, excuses] of [fault.excuses.victim, fault.excuses.others].entries()) {
      for (const code of excuses) loads[at]?.excused.add(code);
    }
    const began = performance.now();
    await stack.inflict(fault);
    const around = fault.spares
      ? eventually(`${what}: the other api serves`, () => serves(stack.url('other api'), what)).then(
          () => performance.now() - began,
        )
      : Promise.resolve(Number.NaN);
    await Promise.all([expectHealth(fault), delay(fault.ms ?? random.whole(2_000, 4_000))]);
    const ended = performance.now();
    await stack.mend(fault);
    await eventually(
      `${what}: all is as before`,
      async () => {
        if (!(await stack.allReady())) return false;
        return (await serves(stack.url('api'), what)) && (await serves(stack.url('other api'), what));
      },
      3 * MINUTES,
    );
    const after = performance.now() - ended;
    for (const one of loads) one.excused.clear();
    ledger.expectNoFaults();
    return { around: await around, after };
  }

  const seconds = (ms: readonly number[]) => {
    const sorted = [...ms].sort((a, b) => a - b);
    const [middle, most] = [sorted[Math.floor(sorted.length / 2)] ?? 0, sorted.at(-1) ?? 0];
    return Number.isNaN(most) ? '-' : `${(middle / SECONDS).toFixed(1)} s, at most ${(most / SECONDS).toFixed(1)} s`;
  };

  test.each(FAULTS.map((fault) => [fault.name, fault] as const))(
    '%s: no answer is false, and all recovers',
    async (name, fault) => {
      const times: Times[] = [];
      for (let number = 1; number <= Math.ceil(ROUNDS / 4); number += 1) times.push(await round(fault, number));
      table.push(
        `| ${name} | ${seconds(times.map((one) => one.around))} | ${seconds(times.map((one) => one.after))} |`,
      );
      report(`${name}: ${times.length} rounds, ${JSON.stringify(ledger.counts)}`);
    },
    10 * MINUTES,
  );

  test(
    'after all of them everything that was acknowledged is there once',
    async () => {
      await Promise.all(loads.map((one) => one.stop()));
      await ledger.check(stack.url('other api'), key, 2 * MINUTES);
      report(`the campaign: ${JSON.stringify(ledger.counts)}, 0 lost, 0 doubled`);
    },
    15 * MINUTES,
  );
});
