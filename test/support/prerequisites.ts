import { spawnSync } from 'node:child_process';
import { canMountTmpfs } from './tmpfs.ts';
import { canMountVolatileDisk } from './volatile-disk/disk.ts';

/** What some tests need of the machine. Where it is missing they show as skipped. */
interface Prerequisite {
  readonly tests: string;
  readonly needs: string;
  isMet(): boolean;
}

const runs = (program: string, ...args: string[]) => spawnSync(program, args, { timeout: 10_000 }).status === 0;

const CONTAINERS: Prerequisite = {
  tests: 'the suites on Kafka and Elasticsearch',
  needs: 'a running Docker, or TEST_KAFKA_BROKERS and TEST_ELASTICSEARCH_URL',
  isMet: () =>
    Boolean(process.env.TEST_KAFKA_BROKERS && process.env.TEST_ELASTICSEARCH_URL) || runs('docker', 'version'),
};

const OF_THE_MACHINE: readonly Prerequisite[] = [
  { tests: 'full disks', needs: 'Linux and a user who may mount a tmpfs (root)', isMet: canMountTmpfs },
  { tests: 'power loss', needs: 'Linux, fuse3 and python3-pyfuse3', isMet: canMountVolatileDisk },
  {
    tests: 'memory and descriptors of other processes',
    needs: 'Linux',
    isMet: () => process.platform === 'linux',
  },
  { tests: 'prompts on a terminal', needs: "util-linux's script", isMet: () => runs('script', '--version') },
  { tests: 'svc audit browse on a terminal', needs: 'tmux', isMet: () => runs('tmux', '-V') },
  { tests: 'the Helm chart', needs: 'helm (.ci/tools)', isMet: () => runs('helm', 'version') },
  { tests: 'the verifiers and the witness in Go', needs: 'go', isMet: () => runs('go', 'version') },
  {
    tests: 'generated clients',
    needs: 'openapi-generator (.ci/tools), python3, go, Java and Maven',
    isMet: () => runs('openapi-generator', 'version'),
  },
  { tests: 'timestamps of RFC 3161', needs: 'openssl', isMet: () => runs('openssl', 'version') },
  { tests: 'alert rules', needs: 'promtool (.ci/tools)', isMet: () => runs('promtool', '--version') },
  { tests: 'shipping with syslog-ng', needs: 'syslog-ng (.ci/tools)', isMet: () => runs('syslog-ng', '--version') },
  { tests: 'shipping with rsyslog', needs: 'rsyslogd (.ci/tools)', isMet: () => runs('rsyslogd', '-v') },
  ...['bash', 'zsh', 'fish'].map((shell) => ({
    tests: `completion in ${shell}`,
    needs: shell,
    isMet: () => runs(shell, '--version'),
  })),
];

const PYTHON: Prerequisite = {
  tests: 'requests made from docs/openapi.json (schemathesis), and buckets (moto)',
  needs: 'python3 with venv',
  isMet: () => runs('python3', '-c', 'import venv, ensurepip'),
};

/** One line for each prerequisite that this machine lacks. Containers and Python are asked for only if a run uses them. */
export function missing(isQuick: boolean): string[] {
  return [...(isQuick ? [] : [CONTAINERS, PYTHON]), ...OF_THE_MACHINE]
    .filter((one) => !one.isMet())
    .map(({ tests, needs }) => `skipped: ${tests}; this machine lacks ${needs}`);
}
