import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/*
 * Pastes every block of the README that is marked as `sh` into one shell, in a folder that has what a fresh clone has after
 * `npm install`. The port is another one, because 8080 may be taken. What `.ci/run` does by itself is not done again: the
 * installation, the tests, the demo and the containers.
 */
const PRELUDE = `
shopt -s expand_aliases
set -uo pipefail
npm() {
  case "$*" in
    install | test | 'run demo') ;;
    start)
      $(node -p 'require("./package.json").scripts.start') >service.log 2>&1 &
      echo $! >service.pid
      until command curl -fs "http://127.0.0.1:$CONTROL_PORT/health/ready" >/dev/null; do
        kill -0 "$(cat service.pid)" || return 1
        sleep 0.1
      done
      ;;
    *) return 1 ;;
  esac
}
docker() { [ "$1" = compose ]; }
curl() { command curl -sS --fail-with-body "$@"; }
trap 'echo "README.md:$LINENO: $BASH_COMMAND" >>failed' ERR
`;

const PASTED = ['package.json', 'node_modules', 'dist', 'demo'];

let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'readme-'));
  for (const name of PASTED) symlinkSync(resolve(name), join(folder, name));
  cpSync('infra', join(folder, 'infra'), { recursive: true, filter: (path) => !path.endsWith('infra/secrets') });
  writeFileSync(join(folder, 'failed'), '');
});

afterAll(() => {
  const pid = Number(readFileSync(join(folder, 'service.pid'), 'utf8'));
  if (pid > 0) process.kill(pid);
  rmSync(folder, { recursive: true, force: true });
});

/** The README with nothing but its blocks of shell, each in its lines. */
function shellOf(readme: string): string {
  let language: string | undefined;
  return readme
    .split('\n')
    .map((line) => {
      const fence = /^```(\w*)/.exec(line);
      if (fence) language = language === undefined ? fence[1] : undefined;
      return language === 'sh' && !fence ? line : '';
    })
    .join('\n');
}

function freePort(): Promise<number> {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => done(typeof address === 'object' ? (address?.port ?? 0) : 0));
    });
  });
}

test('every line of shell in the README works when it is pasted', async () => {
  const readme = readFileSync('README.md', 'utf8');
  const shell = shellOf(readme);
  expect(shell.split('\n').filter((line) => /^(curl|svc|npm) /.test(line)).length).toBeGreaterThan(25);
  const port = String(await freePort());
  writeFileSync(join(folder, 'prelude'), PRELUDE);
  writeFileSync(join(folder, 'pasted'), shell.replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`));
  const { stdout, stderr } = spawnSync('bash', ['-c', 'source ./prelude; source ./pasted'], {
    cwd: folder,
    encoding: 'utf8',
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      CONTROL_PORT: port,
      SVC_ENDPOINT: `http://127.0.0.1:${port}`,
    },
  });
  const failed = readFileSync(join(folder, 'failed'), 'utf8');
  expect(failed && `${failed}\n${stderr}`).toBe('');
  // What the README shows: the identifier that follows from the key, and the altered line.
  const [shown = ''] = /^\{"id":"[^"]+","message":"[^"]+"\}$/m.exec(readme) ?? [];
  expect(stdout).toContain(shown);
  expect(stdout).toMatch(/verified: acme\.ndjson: all \d+ events of the history/);
  expect(stderr).toContain('not verified: Line');
  expect(stdout).toContain('\nfound\n');
});

test('all shell of the README is marked as such', () => {
  const readme = readFileSync('README.md', 'utf8');
  const outside = readme.replaceAll(/^```[\s\S]*?^```/gm, '').split('\n');
  expect(outside.filter((line) => /^ {4}(\$ |curl|svc|npm|docker)/.test(line))).toEqual([]);
});
