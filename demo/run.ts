/**
 * The main job, shown: a service takes real audit events in and gives them out by id and by resource. Ends with an error
 * as soon as anything is not as it should be.
 *
 * By default it starts a fresh service on the embedded store. With `DEMO_URL` and `CONTROL_ROOT_KEY` it uses one that runs,
 * and makes an organization of its own there.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Event {
  readonly resource: { readonly name: string };
  readonly action?: { readonly type?: string };
}

const root = join(import.meta.dirname, '..');
const file = join(root, 'demo', 'events.ndjson');
const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
const events = lines.map((line): Event => JSON.parse(line).event);
const folder = mkdtempSync(join(tmpdir(), 'control-service-demo-'));
const running = process.env.DEMO_URL;
const org = running === undefined ? 'acme' : `demo-${Date.now().toString(36)}`;
const environment: Record<string, string | undefined> = {
  ...process.env,
  CONTROL_DATA_DIR: join(folder, 'data'),
  CONTROL_PORT: '0',
  CONTROL_ROOT_KEY: '',
  SVC_CONFIG_DIR: join(folder, 'svc'),
  SVC_STATE_DIR: join(folder, 'state'),
};
for (const name of ['SVC_PROFILE', 'SVC_ORG', 'SVC_TOKEN', 'SVC_ENDPOINT', 'SVC_AUDIT_ENDPOINT'])
  delete environment[name];

function say(text: string): void {
  process.stdout.write(process.stdout.isTTY ? `\n\x1b[1m${text}\x1b[0m\n` : `\n${text}\n`);
}

/** Starts the service and answers its address. */
function startService(): Promise<{ service: ChildProcess; url: string }> {
  const service = spawn(process.execPath, [join(root, 'dist/main.js')], {
    env: environment,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return new Promise((resolve, reject) => {
    service.on('exit', (code) => reject(new Error(`the service ended with ${code}`)));
    service.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const url = /"url":"(http[^"]+)"/.exec(text)?.[1];
      if (url) resolve({ service, url });
    });
  });
}

/** Runs `svc` as anybody would; shows the call, and the answer where it is worth it. */
async function svc(
  args: readonly string[],
  options: { input?: string; shown?: boolean; code?: number } = {},
): Promise<string> {
  const { input = '', shown = true, code = 0 } = options;
  process.stdout.write(`$ svc ${args.length > 12 ? `${args.slice(0, 4).join(' ')} ...` : args.join(' ')}\n`);
  const child = spawn(process.execPath, [join(root, 'dist/cli/main.js'), ...args], {
    env: environment,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(input);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const exit = await new Promise((resolve) => child.on('close', resolve));
  if (shown) process.stdout.write(output);
  assert.equal(exit, code, `svc ${args[0]} ${args[1]} ended with ${exit}`);
  return output;
}

async function ids(...args: readonly string[]): Promise<string[]> {
  const output = await svc(['audit', ...args, '-o', 'names'], { shown: false });
  return output.split('\n').filter(Boolean);
}

/** What was sent is there again, member by member; what the service adds is beside it. */
function assertKept(sent: unknown, kept: unknown, at = 'event'): void {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) return assert.deepEqual(kept, sent, at);
  for (const [name, member] of Object.entries(sent)) {
    assertKept(member, (kept as Record<string, unknown>)[name], `${at}.${name}`);
  }
}

async function show(url: string, rootKey: string): Promise<void> {
  environment.SVC_ENDPOINT = url;
  environment.SVC_ORG = org;

  say('1. An organization and its first key');
  environment.SVC_TOKEN = rootKey;
  const created = JSON.parse(await svc(['org', 'create', '--name', org, '-o', 'json'], { shown: false }));
  delete environment.SVC_TOKEN;
  await svc(['login'], { input: `${created.key}\n` });

  say(`2. ${lines.length} events of real systems in: half of them sync, half async`);
  const half = Math.ceil(lines.length / 2);
  const part = (from: number, to?: number) => ({ input: `${lines.slice(from, to).join('\n')}\n`, shown: false });
  const publish = ['audit', 'publish', '--context', 'demo', '--file', '-', '-o', 'names'];
  const sync = (await svc(publish, part(0, half))).split('\n').filter(Boolean);
  const async = (await svc([...publish, '--async'], part(half))).split('\n').filter(Boolean);
  const published = [...sync, ...async];
  assert.equal(new Set(published).size, lines.length);
  await untilFound(published.at(-1) ?? '');

  say('3. The whole file again: not one event more');
  const again = await ids('publish', '--context', 'demo', '--file', file);
  assert.deepEqual(again, published);
  assert.equal((await ids('list', '--context', 'demo', '--max', '0')).length, lines.length);

  say('4. Every event by its id, as it was sent; one of them');
  const all = await svc(['audit', 'get', ...published, '-o', 'json'], { shown: false }).then(
    (text) => JSON.parse(text).items,
  );
  for (const [index, event] of events.entries()) assertKept(event, all[index]);
  await svc(['audit', 'get', published[0] ?? '', '-o', 'yaml-slim']);

  say('5. The history of a resource: its sign-ins, page by page, as a person wants to see it');
  const resource = 'signin.amazonaws.com';
  const action = 'ConsoleLogin';
  const signIns = events.filter((event) => event.resource.name === resource && event.action?.type === action);
  const history = ['list', '--resource-name', resource, '--action-type', action];
  const whole = await ids(...history, '--max', '0');
  assert.equal(whole.length, signIns.length);
  const pages = [
    await ids(...history, '--page', '1', '--page-size', '10'),
    await ids(...history, '--page', '2', '--page-size', '10'),
  ];
  assert.deepEqual(pages.flat(), whole.slice(0, 20));
  await svc(['audit', ...history, '--page', '2', '--page-size', '10']);

  say('6. The service keeps a record of its own changes, too');
  const own = await svc(['audit', 'list', '--context', 'svc']);
  assert.equal(own.trim().split('\n').length, 7);

  say(
    '7. The history is provable: who has an export, its proof and an earlier checkpoint needs not trust the operator',
  );
  await prove();
}

/** Publish, export, verify, change one byte, and the line is named. */
async function prove(): Promise<void> {
  await svc(['audit', 'publish', '--resource-name', 'web', '--action-type', 'restart'], { shown: false });
  const exported = join(folder, 'acme.ndjson');
  await svc(['audit', 'export', '--file', exported, '--proof']);
  await svc(['audit', 'verify', exported]);
  const bytes = readFileSync(exported);
  const middle = Math.floor(bytes.length / 2);
  const line = bytes.subarray(0, middle).toString('latin1').split('\n').length;
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  writeFileSync(exported, bytes);
  process.stdout.write(`$ # one bit of line ${line} is changed\n`);
  await svc(['audit', 'verify', exported], { code: 1 });
}

/** An async publish is recorded when it is answered, and found a moment later. */
async function untilFound(id: string): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const found = await ids('list', '--context', 'demo', '--order', 'received', '--max', '0');
    if (found.includes(id)) return;
    assert.ok(tries < 50, 'an async event was not found');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Against a service that runs, or against one that is started for it. */
async function main(): Promise<void> {
  if (running !== undefined) return show(running, process.env.CONTROL_ROOT_KEY ?? '');
  const { service, url } = await startService();
  try {
    await show(url, readFileSync(join(folder, 'data', 'root.key'), 'utf8').trim());
  } finally {
    service.removeAllListeners('exit');
    const ended = new Promise((resolve) => service.on('exit', resolve));
    service.kill('SIGTERM');
    await ended;
  }
}

try {
  await main();
  say('All as expected.');
} finally {
  rmSync(folder, { recursive: true, force: true });
}
