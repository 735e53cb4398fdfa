import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { compiledMain, removeCompiled, type ServiceProcess, spawnService } from '../faults/process.js';
import { Api, Org, type OrgBody } from '../support/api.js';
import { randomFor } from '../support/random.js';
import { sendRaw } from './raw-http.js';
import { scaled, tell } from './scale.js';

const ROOT_KEY = 'root-key-of-the-secrets-scan-0123456789';
const WRONG_KEY = 'svc_wrong-but-still-a-secret-0123456789';

/** What would begin a line, end a JSON text or steer a terminal if it came through as it is. */
const FORGERIES = [
  '\n{"level":60,"msg":"forged"}\n',
  '\r\n{"level":60,"time":0,"msg":"forged"}',
  '","msg":"forged","x":"',
  '"}\n{"msg":"forged"}',
  '\u0000\u0007\u001b[2J\u001b]0;forged\u0007',
  '\u2028{"msg":"forged"}\u2029\u0085',
  '\\n{\\"msg\\":\\"forged\\"}',
  '%0a{"msg":"forged"}',
  '\ud800{"msg":"forged"}',
];

let dataDir: string;
let main: string;
let child: ServiceProcess;
let url: string;
let org: Org;
let issued: string[];

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'control-scan-'));
  main = compiledMain();
  child = spawnService(main, dataDir, { CONTROL_ROOT_KEY: ROOT_KEY, CONTROL_LOG_LEVEL: 'trace' });
  url = await child.listening;
  const root = new Api(url, ROOT_KEY);
  const acme = await root.post<OrgBody>('/org', { name: 'acme' });
  const other = await root.post<OrgBody>('/org', { name: 'other' }, { 'idempotency-key': 'once' });
  issued = [acme.body.key, other.body.key];
  org = new Org(url, 'acme', acme.body.key);
});

afterAll(async () => {
  await child?.end('SIGKILL');
  rmSync(dataDir, { recursive: true, force: true });
  removeCompiled();
});

function secrets(): string[] {
  return [ROOT_KEY, WRONG_KEY, ...issued];
}

function shown(text: string): string[] {
  return secrets().filter((secret) => text.includes(secret));
}

/** Sends one request that succeeds or fails in its own way, with the key where it belongs or where it does not. */
async function anyRequest(n: number): Promise<string> {
  const random = randomFor(`request ${n}`);
  const key = random.pick(secrets());
  const forged = random.pick(FORGERIES);
  const api = new Api(url, key);
  const path = random.pick(['acme', 'other', 'nowhere', encodeURIComponent(forged.toWellFormed())]);
  const kinds: (() => Promise<{ text: string }>)[] = [
    () => api.post(`/audit/org/${path}/auditctx/app`, { resource: { name: forged } }),
    () => api.post(`/audit/org/${path}/auditctx/app`, { resource: { name: 'x' }, [forged]: key }),
    () => api.post(`/audit/org/${path}/auditctx/app`, `{"resource":{"name":"${forged}`),
    () => api.post(`/audit/org/${path}/auditctx/app/-bulk`, [{ resource: { id: forged } }, { event: forged }]),
    () => api.post('/org', { name: 'acme', description: forged }),
    () => api.get(`/audit/org/${path}?resourceName=${encodeURIComponent(forged.toWellFormed())}&page=x`),
    () => api.get(`/audit/org/${path}/id/${encodeURIComponent(forged.toWellFormed())}`),
    () => api.raw('GET', '/audit/org/%zz', { headers: { 'x-request-id': 'x"},{"forged":"' } }),
    () => api.raw('DELETE', `/org/${path}`, { headers: { authorization: `Basic ${key}` } }),
    () =>
      api.send('POST', `/org?x=${encodeURIComponent(forged.toWellFormed())}`, '{}', { 'content-type': 'text/plain' }),
    async () => {
      const lines = [`GET /org/acme HTTP/1.1`, 'host: x', `x-request-id: ${forged}`, `authorization: Bearer ${key}`];
      const { answers } = await sendRaw(url, `${lines.join('\r\n')}\r\n\r\n`, 1, 2_000);
      return { text: answers.map(({ text, headers }) => text + JSON.stringify([...headers])).join('\n') };
    },
  ];
  return (await random.pick(kinds)()).text;
}

test('no answer ever repeats a key, whatever was asked', async () => {
  const leaks: string[] = [];
  const count = scaled(100, 2_000);
  for (let n = 0; n < count; n += 1) {
    const text = await anyRequest(n);
    // A key in place of a name in the body is the client's own text; the fault names the member, not its value.
    for (const secret of shown(text)) leaks.push(`request ${n} shows ${secret.slice(0, 8)}...: ${text.slice(0, 200)}`);
  }
  tell(`${count} requests scanned for keys`);
  expect(leaks).toEqual([]);
});

test('svc --debug shows no key, on standard output or standard error, whether it succeeds or fails', async () => {
  const commands = [
    ['audit', 'list', '--resource-name', 'x'],
    ['audit', 'get', 'unknown'],
    ['audit', 'get', WRONG_KEY],
    ['audit', 'publish', '--resource-name', 'from the command line', '--action-type', 'x', '--result-status', 'OK'],
    ['audit', 'publish', '--file', join(dataDir, 'not-there.ndjson')],
    ['org', 'get', 'acme'],
    ['no', 'such', 'command'],
  ];
  const leaks: string[] = [];
  let debugged = 0;
  for (const token of [org.key, WRONG_KEY, ROOT_KEY]) {
    for (const command of commands) {
      const { stdout, stderr } = await svc([...command, '--debug'], token);
      if (stderr.includes('HTTP') || stderr.includes(new URL(url).host)) debugged += 1;
      if ((stdout + stderr).includes(token)) leaks.push(`svc ${command.join(' ')}: ${stdout}${stderr}`);
    }
  }
  tell(`svc --debug: ${debugged} of ${commands.length * 3} runs told of their requests`);
  expect(debugged).toBeGreaterThan(5);
  expect(leaks).toEqual([]);
});

function svc(args: readonly string[], token: string): Promise<{ stdout: string; stderr: string }> {
  const env = {
    PATH: process.env.PATH,
    HOME: dataDir,
    XDG_CONFIG_HOME: dataDir,
    SVC_ORG: 'acme',
    SVC_TOKEN: token,
    SVC_ENDPOINT: url,
    SVC_AUDIT_ENDPOINT: url,
  };
  const file = join(dirname(main), 'cli/main.js');
  return new Promise((resolve) => {
    execFile(process.execPath, ['--no-warnings', file, ...args], { env }, (_error, stdout, stderr) =>
      resolve({ stdout, stderr }),
    );
  });
}

/** The last test: it ends the service, to have all that it logged. */
test('its log, at the most talkative level, shows no key, and every line is one JSON object of its own', async () => {
  const { stdout, stderr } = await child.end('SIGTERM');
  const lines = stdout.split('\n').filter((line) => line !== '');
  tell(`${lines.length} lines of log scanned`);
  expect(lines.length).toBeGreaterThan(5);
  expect(shown(stdout + stderr)).toEqual([]);
  for (const line of lines) {
    const { level, time, msg } = JSON.parse(line) as { level: unknown; time: unknown; msg: unknown };
    expect([typeof level, typeof time, typeof msg]).toEqual(['number', 'number', 'string']);
    expect(msg).not.toBe('forged');
  }
  expect([...stdout].filter((char) => char !== '\n' && char < ' ')).toEqual([]);
});
