import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { syncFolder } from '../../../src/platform/sqlite.js';
import { PATIENCE } from '../../support/patience.js';
import { type Armed, type Cut, VolatileDisk } from '../../support/volatile-disk/disk.js';
import { type ServiceProcess, spawnService } from '../process.js';

const READY_MS = 60_000 * PATIENCE;

/** The service on a volatile disk: a computer whose power can fail. */
export class PoweredService {
  readonly folder = mkdtempSync(join(tmpdir(), 'control-power-'));
  /** Changes and fsyncs of the last start: a start can be cut at each of them. */
  stepsOfStart = 100;
  private mounted: VolatileDisk | undefined;
  private running: ServiceProcess | undefined;

  constructor(
    private readonly main: string,
    private readonly env: Readonly<Record<string, string>> = {},
  ) {}

  /** Does not exist before the first start. */
  get dataDir(): string {
    return join(this.folder, 'disk/data');
  }

  get disk(): VolatileDisk {
    if (!this.mounted) throw new Error('the power is off');
    return this.mounted;
  }

  get process(): ServiceProcess {
    if (!this.running) throw new Error('the service does not run');
    return this.running;
  }

  rootKey(): string {
    return readFileSync(join(this.dataDir, 'root.key'), 'utf8').trim();
  }

  async powerOn(): Promise<void> {
    this.mounted = await VolatileDisk.mount(join(this.folder, 'backing'), join(this.folder, 'disk'));
  }

  /** Resolves with the address when the service is ready. Rejects with what it said if it ends before. */
  async start(): Promise<string> {
    const before = await this.disk.steps();
    this.running = spawnService(this.main, this.dataDir, this.env);
    const url = await this.running.listening;
    for (const deadline = Date.now() + READY_MS; (await fetch(`${url}/health/ready`)).status !== 200; ) {
      if (Date.now() > deadline) throw new Error('the service was not ready in time');
      await delay(20);
    }
    this.stepsOfStart = (await this.disk.steps()) - before;
    return url;
  }

  /** A start that the power does not last for. */
  async cutStart(armed: Armed, isReadModelGone = false): Promise<Cut> {
    await this.powerOn();
    if (isReadModelGone) this.removeReadModel();
    await this.disk.arm(armed);
    this.running = spawnService(this.main, this.dataDir, this.env);
    const { listening, exit } = this.running;
    await Promise.race([this.disk.cutOff, listening.catch(() => undefined), exit]);
    const cut = await this.disk.cut(armed.seed);
    await this.powerOff();
    return cut;
  }

  /** As an operator does while the service is stopped. */
  removeReadModel(): void {
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(this.dataDir, `read-model.db${suffix}`), { force: true });
    mkdirSync(this.dataDir, { recursive: true });
    syncFolder(this.dataDir);
  }

  /** Nothing runs afterwards. A disk that was not cut keeps everything. */
  async powerOff(): Promise<void> {
    await this.running?.end('SIGKILL');
    this.running = undefined;
    await this.mounted?.unmount();
    this.mounted = undefined;
  }

  async remove(): Promise<void> {
    await this.powerOff();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
