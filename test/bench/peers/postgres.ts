import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { say } from '../figures.ts';
import { cpuOfTree } from '../processes.ts';
import { Server } from '../server.ts';

/** Where Debian and its children install the programs of each version. */
const VERSIONS = '/usr/lib/postgresql';

/** With ten, the default, fewer requests share a commit; with more than 32, the rate is no higher. */
const CONNECTIONS = '64';

interface Cluster {
  readonly postgres: ChildProcess;
  readonly bin: string;
  readonly folder: string;
}

/** The peer: Fastify, and a PostgreSQL cluster of its own with default settings, reached through a socket in its folder. */
export class Peer {
  /** Undefined, with a loud word, if PostgreSQL is not installed or this is root and there is no user "postgres". */
  static async start(): Promise<Peer | undefined> {
    const bin = installed();
    const user = unprivileged();
    if (bin === undefined || user === undefined) {
      say(`NOT COMPARED WITH POSTGRESQL: ${bin ? 'there is no user "postgres"' : `nothing in ${VERSIONS}`}.`);
      say('Install it, on Debian with: apt-get install postgresql');
      return undefined;
    }
    // Not in a folder of this user's own, through which the other user could not go.
    const folder = mkdtempSync(join(tmpdir(), 'control-bench-peer-'));
    if (user.uid !== undefined) chownSync(folder, user.uid, user.gid ?? 0);
    const data = join(folder, 'data');
    // Texts are compared by their bytes, as SQLite does it: this costs least.
    const setUp = ['--pgdata', data, '--username=bench', '--auth=trust', '--encoding=UTF8', '--locale=C'];
    execFileSync(join(bin, 'initdb'), setUp, { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
    const options = ['-D', data, '-k', folder, '-c', 'listen_addresses='];
    const postgres = spawn(join(bin, 'postgres'), options, {
      ...user,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    process.once('exit', () => postgres.kill('SIGQUIT'));
    await accepting(postgres);
    const env = { PGHOST: folder, PGUSER: 'bench', PGDATABASE: 'postgres', PEER_CONNECTIONS: CONNECTIONS };
    return new Peer(
      { postgres, bin, folder },
      await Server.start(join(import.meta.dirname, 'fastify-postgres.ts'), env),
    );
  }

  private readonly cluster: Cluster;
  private readonly server: Server;

  private constructor(cluster: Cluster, server: Server) {
    this.cluster = cluster;
    this.server = server;
  }

  get port(): number {
    return this.server.port;
  }

  /** Of Fastify and of every process of PostgreSQL, those included that have ended. */
  cpuMs(): number | undefined {
    const [postgres, server] = [cpuOfTree(this.cluster.postgres.pid ?? 0), this.server.cpuMs()];
    return postgres === undefined || server === undefined ? undefined : postgres + server;
  }

  /** What PostgreSQL would do by itself some minutes after a large load. */
  vacuum(): void {
    const { bin, folder } = this.cluster;
    const command = ['--host', folder, '--username=bench', '--command=VACUUM (ANALYZE) event', 'postgres'];
    execFileSync(join(bin, 'psql'), command, { stdio: ['ignore', 'ignore', 'inherit'] });
  }

  async stop(): Promise<void> {
    await this.server.stop();
    const ended = new Promise((done) => this.cluster.postgres.once('exit', done));
    this.cluster.postgres.kill('SIGINT');
    await ended;
    rmSync(this.cluster.folder, { recursive: true });
  }
}

/** The programs of the newest version. */
function installed(): string | undefined {
  if (!existsSync(VERSIONS)) return undefined;
  const bins = readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a));
  return bins.map((version) => join(VERSIONS, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb')));
}

/** Who runs PostgreSQL, which refuses root. */
function unprivileged(): { uid?: number; gid?: number } | undefined {
  if (process.getuid?.() !== 0) return {};
  try {
    const id = (flag: string) =>
      Number(execFileSync('id', [flag, 'postgres'], { stdio: ['ignore', 'pipe', 'ignore'] }));
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    return undefined;
  }
}

function accepting(postgres: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = '';
    postgres.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-10_000);
      if (said.includes('ready to accept connections')) resolve();
    });
    postgres.once('exit', (code) => reject(new Error(`PostgreSQL ended (${code}): ${said}`)));
  });
}
