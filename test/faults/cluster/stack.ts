import { execFileSync } from 'node:child_process';
import {
  COMPILED_ONCE,
  freePort,
  type StartedCluster,
  startElasticsearch,
  startKafkaCluster,
} from '../../support/containers.js';
import { Link, type LinkState } from '../../support/link.js';
import { bodyOf, Client } from '../client.js';
import type { ServiceProcess } from '../process.js';
import { Cluster, eventually, ROOT_KEY, SECONDS } from './cluster.js';
import { ORG } from './ledger.js';
import type { Excuse } from './load.js';

export type Process = 'api' | 'other api' | 'projector' | 'other projector';
type Victim = 'api' | 'projector';
type Store = 'Kafka' | 'Elasticsearch';

type Act =
  | { readonly to: Victim; readonly signal: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' }
  | { readonly to: Victim; readonly from: Store; readonly link: LinkState }
  | { readonly to: Store; readonly docker: 'kill' | 'pause' };

/** A kind of fault, and what it explains. */
export interface Fault {
  readonly name: string;
  readonly act: Act;
  /** How long it lasts; 2 to 4 s, chosen at random, if nothing is said. */
  readonly ms?: number;
  /** The other processes serve meanwhile. */
  readonly spares: boolean;
  /** Knows within a second that it is not ready. */
  readonly unready?: Victim;
  readonly excuses: { readonly victim: readonly Excuse[]; readonly others: readonly Excuse[] };
}

const LOG: readonly Excuse[] = ['log_unavailable', 'outcome_unknown', 'state_unconfirmed', 'read_model_unavailable'];
const READS: readonly Excuse[] = ['read_model_unavailable'];
const LINKS: readonly (readonly [LinkState, string])[] = [
  ['cut', 'refuses connections'],
  ['silent', 'does not answer'],
  ['slow', 'is 300 ms away'],
  ['lossy', 'loses answers'],
];
const SIGNALS = [
  ['SIGKILL', 'kill -9'],
  ['SIGTERM', 'SIGTERM'],
  ['SIGSTOP', 'SIGSTOP for 16 s'],
] as const;

const VICTIMS = ['api', 'projector'] as const;

function ofSignals(to: Victim): Fault[] {
  return SIGNALS.map(([signal, name]) => ({
    name: `${to}: ${name}`,
    act: { to, signal },
    spares: true,
    ...(signal === 'SIGSTOP' && { ms: 16 * SECONDS }),
    excuses: { victim: to === 'api' ? ['no answer', 'not_ready', ...LOG] : [], others: [] },
  }));
}

function ofLinks(to: Victim): Fault[] {
  return (['Kafka', 'Elasticsearch'] as const).flatMap((from) =>
    LINKS.map(([link, name]) => ({
      name: `${to}: ${from} ${name}`,
      act: { to, from, link },
      spares: true,
      ...((link === 'cut' || link === 'silent') && { unready: to }),
      excuses: { victim: to === 'projector' ? [] : from === 'Kafka' ? LOG : READS, others: [] },
    })),
  );
}

const OF_STORES: readonly Fault[] = [
  ['Kafka', 'kill', 'killed and restarted', LOG],
  ['Kafka', 'pause', 'paused', LOG],
  ['Elasticsearch', 'kill', 'killed and restarted', READS],
  ['Elasticsearch', 'pause', 'paused', READS],
].map(([to, docker, name, excuses]) => ({
  name: `${to}: ${name}`,
  act: { to, docker } as Act,
  spares: false,
  excuses: { victim: excuses as readonly Excuse[], others: excuses as readonly Excuse[] },
}));

export const FAULTS: readonly Fault[] = [...VICTIMS.flatMap((to) => [...ofSignals(to), ...ofLinks(to)]), ...OF_STORES];

/** Two api and two projectors, of each of which one reaches Kafka and Elasticsearch by links alone. */
export class CampaignStack {
  private cluster = new Cluster();
  private readonly processes = new Map<Process, ServiceProcess>();
  private readonly urls = new Map<Process, string>();
  private readonly links = new Map<`${Victim} ${Store}`, Link>();
  private containers: Record<Store, string> = { Kafka: '', Elasticsearch: '' };
  private kafka: StartedCluster | undefined;
  private stopElasticsearch: () => Promise<unknown> = async () => undefined;

  url(of: Process): string {
    return this.urls.get(of) ?? '';
  }

  async start(): Promise<void> {
    const port = await freePort();
    for (const to of VICTIMS) {
      this.links.set(`${to} Elasticsearch`, await Link.start(`127.0.0.1:${port}`));
      this.links.set(`${to} Kafka`, await Link.start());
    }
    const elasticsearch = await startElasticsearch(process.env, { port, javaOptions: COMPILED_ONCE });
    this.stopElasticsearch = () => elasticsearch.stop();
    this.kafka = await startKafkaCluster(process.env, 1, this.listeners());
    this.containers = { Kafka: this.kafka.containers[0]?.getId() ?? '', Elasticsearch: elasticsearch.getId() };
    this.findKafka();
    this.cluster = new Cluster({
      CONTROL_SYNC_TIMEOUT_MS: '3000',
      CONTROL_KAFKA_BROKERS: this.kafka.brokers.join(),
      CONTROL_ELASTICSEARCH_URL: `http://127.0.0.1:${port}`,
    });
    await Promise.all((['projector', 'other projector', 'api', 'other api'] as const).map((one) => this.spawn(one)));
  }

  /** A listener for each link, which names the link as its address: a client that came by it stays there. */
  private listeners(): Record<string, string> {
    const address = (to: Victim) => this.links.get(`${to} Kafka`)?.address;
    return {
      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: ['PLAINTEXT', 'BROKER', 'CONTROLLER', 'API', 'PROJECTOR']
        .map((name) => `${name}:PLAINTEXT`)
        .join(),
      KAFKA_LISTENERS: 'PLAINTEXT://:9092,BROKER://:9093,CONTROLLER://:9094,API://:9095,PROJECTOR://:9096',
      KAFKA_ADVERTISED_LISTENERS: `API://${address('api')},PROJECTOR://${address('projector')}`,
    };
  }

  private findKafka(): void {
    const format = '{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}';
    const [ip] = docker('inspect', '-f', format, this.containers.Kafka).split(' ');
    for (const [to, port] of [
      ['api', 9095],
      ['projector', 9096],
    ] as const) {
      const link = this.links.get(`${to} Kafka`);
      if (link) link.upstream = `${ip}:${port}`;
    }
  }

  private async spawn(name: Process): Promise<void> {
    const role = name.endsWith('api') ? 'api' : 'projector';
    const linked = {
      CONTROL_KAFKA_BROKERS: this.links.get(`${role} Kafka`)?.address ?? '',
      CONTROL_ELASTICSEARCH_URL: `http://${this.links.get(`${role} Elasticsearch`)?.address}`,
    };
    const port = new URL(this.urls.get(name) ?? `http://127.0.0.1:${await freePort()}`).port;
    const started = this.cluster.spawn(role, { CONTROL_PORT: port, ...(name === role && linked) });
    this.processes.set(name, started);
    this.urls.set(name, await started.listening);
  }

  /** The key of the organization, once it is found. */
  org(): Promise<string> {
    return eventually('the organization is found', async () => {
      const root = new Client(this.url('api'), ROOT_KEY);
      const answer = await root.post('/org', { name: ORG }, { 'idempotency-key': ORG });
      return answer.status === 201 && bodyOf<{ key: string }>(answer).key;
    });
  }

  async inflict({ act }: Fault): Promise<void> {
    if ('docker' in act) docker(act.docker, this.containers[act.to]);
    else if ('link' in act) this.links.get(`${act.to} ${act.from}`)?.set(act.link);
    else if (act.signal === 'SIGSTOP') this.process(act.to).kill('SIGSTOP');
    else await this.cluster.end(this.process(act.to), act.signal);
  }

  async mend({ act }: Fault): Promise<void> {
    if ('docker' in act) {
      docker(act.docker === 'kill' ? 'start' : 'unpause', this.containers[act.to]);
      this.findKafka();
    } else if ('link' in act) this.links.get(`${act.to} ${act.from}`)?.set('open');
    else if (act.signal === 'SIGSTOP') this.process(act.to).kill('SIGCONT');
    else await this.spawn(act.to);
  }

  private process(name: Process): ServiceProcess {
    const found = this.processes.get(name);
    if (!found) throw new Error(`${name} does not run`);
    return found;
  }

  async allReady(): Promise<boolean> {
    const answers = await Promise.all([...this.urls.values()].map((url) => fetch(`${url}/health/ready`)));
    return answers.every(({ ok }) => ok);
  }

  async remove(): Promise<void> {
    // Topics and indices go with their stores.
    await this.cluster.killAll();
    await Promise.all([...this.links.values()].map((link) => link.close()));
    await this.kafka?.stop();
    await this.stopElasticsearch();
  }
}

function docker(...args: string[]): string {
  return execFileSync('docker', args, { encoding: 'utf8' });
}
