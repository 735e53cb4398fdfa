import { tmpdir } from 'node:os';
import { newClusterStore } from '../../support/cluster-store.js';
import { PATIENCE } from '../../support/patience.js';
import { SEED } from '../../support/random.js';
import { TEST_SECRETS } from '../../support/secrets.js';
import { compiledMain, type Exit, type ServiceProcess, spawnService } from '../process.js';

export const ROOT_KEY = TEST_SECRETS.CONTROL_ROOT_KEY;

/** How much of everything the tests of this folder do; `FAULTS_ROUNDS=20` and more is their full scale. */
export const ROUNDS = Number(process.env.FAULTS_ROUNDS || 20);
export const FULL = ROUNDS >= 20;
export const SECONDS = 1_000;
export const MINUTES = 60 * SECONDS * PATIENCE;

/** Needs Kafka and Elasticsearch; shows as skipped where there are none. */
export function faultSuite(name: string, define: () => void): void {
  const { TEST_KAFKA_BROKERS, TEST_ELASTICSEARCH_URL } = process.env;
  (TEST_KAFKA_BROKERS && TEST_ELASTICSEARCH_URL ? describe : describe.skip)(`${name}, seed ${SEED}`, define);
}

/** Needs Docker besides, to start stores that it stops. */
export function outageSuite(name: string, define: () => void): void {
  (process.env.TEST_CONTAINERS === '1' ? describe : describe.skip)(`${name}, seed ${SEED}`, define);
}

/** One line for whoever reads the run. */
export function report(line: string): void {
  process.stdout.write(`${line}; seed ${SEED}\n`);
}

/** Processes of the service that share topics and indices of their own. */
export class Cluster {
  readonly store = newClusterStore();
  private readonly running = new Set<ServiceProcess>();

  constructor(private readonly settings: Readonly<Record<string, string>> = {}) {}

  get env(): Readonly<Record<string, string>> {
    return { ...this.store.env, ...this.settings };
  }

  spawn(role: 'api' | 'projector' | 'api,projector', env: Readonly<Record<string, string>> = {}): ServiceProcess {
    const started = spawnService(compiledMain(), tmpdir(), { ...this.env, CONTROL_ROLES: role, ...env });
    this.running.add(started);
    void started.exit.then((exit) => {
      // One that nobody ended has died of something.
      if (this.running.delete(started)) process.stderr.write(`${role} ended by itself: ${lastLines(exit)}\n`);
    });
    return started;
  }

  /** The addresses of so many new api processes, once they serve. */
  apis(count: number): Promise<string[]> {
    return Promise.all(Array.from({ length: count }, () => this.spawn('api').listening));
  }

  /** Ends a process that runs; anything else than the end by the signal is a fault of it. */
  async end(one: ServiceProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (!this.running.delete(one)) throw new Error('the process had ended by itself');
    const exit = await one.end(signal);
    // One that was asked to stop before it had begun is ended by the signal too.
    const right = exit.signal === signal || (signal === 'SIGTERM' && exit.code === 0);
    if (!right) throw new Error(`${signal} ended the process with ${exit.code ?? exit.signal}: ${lastLines(exit)}`);
  }

  async killAll(): Promise<void> {
    const all = [...this.running];
    this.running.clear();
    await Promise.all(all.map((one) => one.end('SIGKILL')));
  }

  async remove(): Promise<void> {
    await this.killAll();
    await this.store.remove();
  }
}

function lastLines({ code, signal, stdout, stderr }: Exit): string {
  return `${code ?? signal}\n${stdout.split('\n').slice(-8).join('\n')}\n${stderr}`;
}

/** Asks again and again; throws with the last answer when the time runs out. */
export async function eventually<Result>(
  what: string,
  ask: () => Promise<Result | undefined | false>,
  ms = MINUTES,
): Promise<Result> {
  const deadline = Date.now() + ms;
  for (let failure: unknown; ; ) {
    try {
      const result = await ask();
      if (result !== undefined && result !== false) return result;
    } catch (error) {
      failure = error;
    }
    if (Date.now() > deadline) throw new Error(`not in ${ms} ms: ${what}`, { cause: failure });
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
