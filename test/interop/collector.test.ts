import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { builtMain, type ServiceProcess, spawnService } from '../faults/process.js';
import { FULL, tell } from '../hardening/scale.js';
import { Api, type Event, Org, type OrgBody, withQuery } from '../support/api.js';
import { freePort } from '../support/containers.js';
import { randomFor } from '../support/random.js';

const VERSION = 'v0.151.0';
const INFRA = fileURLToPath(new URL('../../infra/shippers/otel-collector', import.meta.url));
const LINES = FULL ? 10_000 : 1_000;
const ROUNDS = 5;
const ARRIVAL_MS = 60_000;

const random = randomFor('collector');
const program = collector();
let folder: string;
let service: ServiceProcess;
let shipper: ChildProcess;

/**
 * A Collector as `builder.yaml` describes it, built once a machine: that takes minutes, so only a full run does it. Undefined
 * where there is none.
 */
function collector(): string | undefined {
  const built = join(tmpdir(), `control-otelcol-${VERSION}`);
  const binary = join(built, 'otelcol-files');
  if (existsSync(binary)) return binary;
  if (!FULL) return undefined;
  mkdirSync(built, { recursive: true });
  const env = { ...process.env, GOBIN: built };
  execFileSync('go', ['install', `go.opentelemetry.io/collector/cmd/builder@${VERSION}`], { env, stdio: 'inherit' });
  const config = join(INFRA, 'builder.yaml');
  const args = ['--config', config, '--set', `dist.output_path=${built}`];
  execFileSync(join(built, 'builder'), args, { env, stdio: 'inherit' });
  return binary;
}

function startCollector(binary: string, url: string, { name, key }: Org): ChildProcess {
  const control = { CONTROL_URL: url, CONTROL_ORG: name, CONTROL_CONTEXT: 'app', CONTROL_KEY: key };
  const env = { ...process.env, ...control, LOG_FILES: join(folder, '*.log'), STATE_FOLDER: join(folder, 'state') };
  const args = ['--config', join(INFRA, 'collector.yaml'), '--feature-gates', 'stanza.synchronousLogEmitter'];
  return spawn(binary, args, { env, stdio: 'ignore' });
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

const messageOf = ({ result }: Event) => String(result?.['message']);

async function messagesOf(org: Org): Promise<string[]> {
  const query = { contextName: 'app', order: 'received', pageSize: '1000' };
  return (await org.walk(withQuery(org.audit, query))).map(messageOf);
}

(program ? describe : describe.skip)(`an OpenTelemetry Collector ${VERSION} with infra/shippers/otel-collector`, () => {
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'control-collector-'));
  });

  afterAll(async () => {
    await kill(shipper);
    await service.end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  test(`ships ${LINES} lines while it and the service are killed: each is recorded, none twice`, async () => {
    const binary = program ?? '';
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const data = join(folder, 'data');
    const startService = async () => {
      service = spawnService(builtMain(), data, { CONTROL_PORT: String(port) });
      await service.listening;
    };
    await startService();
    const rootKey = readFileSync(join(data, 'root.key'), 'utf8').trim();
    const { body } = await new Api(url, rootKey).post<OrgBody>('/org', { name: 'acme' });
    const org = new Org(url, 'acme', body.key);
    const file = join(folder, 'audit.log');
    const sent = Array.from({ length: LINES }, (_, at) => `line ${at} of "the audit" \\ ünïcode {}`);
    shipper = startCollector(binary, url, org);
    for (let round = 0; round < ROUNDS; round += 1) {
      const lines = sent.slice((round * LINES) / ROUNDS, ((round + 1) * LINES) / ROUNDS);
      for (let at = 0; at < lines.length; at += 50) {
        appendFileSync(file, `${lines.slice(at, at + 50).join('\n')}\n`);
        await delay(random() * 20);
      }
      await service.end('SIGKILL');
      await delay(random() * 200);
      await kill(shipper);
      shipper = startCollector(binary, url, org);
      await delay(random() * 200);
      await startService();
    }
    const deadline = Date.now() + ARRIVAL_MS;
    while (new Set(await messagesOf(org)).size < LINES && Date.now() < deadline) await delay(500);
    const recorded = await messagesOf(org);
    tell(`collector: ${recorded.length} events of ${LINES} lines, ${ROUNDS} kills of each`);
    expect(recorded.toSorted()).toEqual(sent.toSorted());
  });
});
