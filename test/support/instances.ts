import 'reflect-metadata';
import { tmpdir } from 'node:os';
import { pino } from 'pino';
import { type Service, startService } from '../../src/composition/service.js';
import { type Config, readConfig } from '../../src/platform/config/config.js';
import { Api, type OrgBody } from './api.js';
import { type ClusterStore, newClusterStore, PATIENT } from './cluster-store.js';
import type { KafkaProxy } from './kafka-proxy.js';
import { PATIENCE } from './patience.js';

/** How long a broker may take to answer an instance behind a proxy that loses answers. */
const REQUEST_MS = 1_000;

/** A start takes seconds. */
const START_MS = 60_000 * PATIENCE;
/** How many of the last warnings of an instance are kept. */
const KEPT = 20;

/** Instances of the service in this process, which share topics and indices of their own. */
export class Instances {
  private readonly services: Service[] = [];

  constructor(
    private readonly env: Readonly<Record<string, string>> = {},
    readonly store: ClusterStore = newClusterStore(),
  ) {}

  /** The addresses of so many more, once all serve. */
  start(count: number): Promise<string[]> {
    return Promise.all(Array.from({ length: count }, () => this.startOne()));
  }

  /** The address of one more; with a proxy, it reaches Kafka through that alone. */
  async startOne(proxy?: KafkaProxy): Promise<string> {
    const env = { CONTROL_PORT: '0', CONTROL_DATA_DIR: tmpdir(), ...PATIENT, ...this.store.env, ...this.env };
    const config = readConfig(env);
    const warnings: string[] = [];
    const logger = pino(
      { level: 'warn' },
      {
        write: (line) => {
          warnings.push(line);
          if (warnings.length > KEPT) warnings.shift();
        },
      },
    );
    const service = await inTime(startService(proxy ? routed(config, proxy) : config, logger), warnings);
    this.services.push(service);
    return service.url;
  }

  root(url: string): Api {
    return new Api(url, this.store.env['CONTROL_ROOT_KEY']);
  }

  /** The key of a new organization. */
  async org(url: string, name: string): Promise<string> {
    const { status, body, text } = await this.root(url).post<OrgBody>('/org', { name });
    if (status !== 201) throw new Error(`POST /org answered ${status}: ${text}`);
    return body.key;
  }

  async stop(): Promise<void> {
    await Promise.all(this.services.splice(0).map((service) => service.stop()));
  }

  async remove(): Promise<void> {
    await this.stop();
    await this.store.remove();
  }
}

/** Says what a service that does not start has waited for. */
async function inTime<Result>(started: Promise<Result>, warnings: readonly string[]): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const fail = () => reject(new Error(`not started in ${START_MS} ms; its last warnings:\n${warnings.join('')}`));
    timer = setTimeout(fail, START_MS);
  });
  return Promise.race([started, late]).finally(() => clearTimeout(timer));
}

function routed(config: Config, proxy: KafkaProxy): Config {
  const { cluster } = config;
  if (!cluster) throw new Error('the configuration is of a cluster');
  const kafka = { ...cluster.kafka, route: () => proxy.address, requestMs: REQUEST_MS };
  return { ...config, cluster: { ...cluster, kafka } };
}
