import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { builtMain, type ServiceProcess, spawnService } from '../../faults/process.js';
import { Api, type Event, Org, type OrgBody, withQuery } from '../../support/api.js';
import { freePort } from '../../support/containers.js';
import { PATIENCE } from '../../support/patience.js';

const CONTEXT = 'shipped';
const LOOK_MS = 100;
const ARRIVAL_MS = 60_000 * PATIENCE;

/** A service as a process of its own that a shipper sends to: it is killed, and started again at the same address. */
export class Receiver {
  private readonly dataDir = mkdtempSync(join(tmpdir(), 'control-shippers-'));
  private service: ServiceProcess | undefined;

  readonly url: string;
  /** Where shippers send to: the service itself, or a proxy before it. */
  through: string;

  private constructor(private readonly port: number) {
    this.url = `http://127.0.0.1:${port}`;
    this.through = this.url;
  }

  static async start(): Promise<Receiver> {
    const receiver = new Receiver(await freePort());
    await receiver.start();
    return receiver;
  }

  async start(): Promise<void> {
    const env = { CONTROL_PORT: String(this.port), CONTROL_LOG_LEVEL: 'info' };
    this.service = spawnService(builtMain(), this.dataDir, env);
    await this.service.listening;
  }

  async kill(): Promise<void> {
    await this.service?.end('SIGKILL');
  }

  /** A new organization with a context that has the settings of a file in `infra/shippers`. */
  async org(name: string, settings: URL): Promise<Org> {
    const rootKey = readFileSync(join(this.dataDir, 'root.key'), 'utf8').trim();
    const { body } = await new Api(this.url, rootKey).post<OrgBody>('/org', { name });
    const org = new Org(this.url, name, body.key);
    const headers = { 'content-type': 'application/json' };
    const path = `${org.audit}/auditctx/${CONTEXT}`;
    const { status, text } = await org.api.send('PUT', path, readFileSync(settings, 'utf8'), headers);
    if (status >= 300) throw new Error(`PUT ${path} returned ${status}: ${text}`);
    return org;
  }

  ingestUrl(org: Org): string {
    return `${this.through}${org.audit}/auditctx/${CONTEXT}/-ingest`;
  }

  /** The messages of all that was recorded, once this one is among them. */
  async messagesUntil(org: Org, last: string): Promise<(string | undefined)[]> {
    const query = { contextName: CONTEXT, order: 'received' };
    const deadline = Date.now() + ARRIVAL_MS;
    for (;;) {
      const newest = await org.list({ ...query, last: '10' });
      if (newest.body.items.map(messageOf).includes(last)) break;
      if (Date.now() > deadline) throw new Error(`"${last}" did not arrive`);
      await delay(LOOK_MS);
    }
    return (await org.walk(withQuery(org.audit, { ...query, pageSize: '1000' }))).map(messageOf);
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}

/** What could not be mapped has none. */
function messageOf({ resource: { data } }: Event): string | undefined {
  return data?.['message'] as string | undefined;
}
