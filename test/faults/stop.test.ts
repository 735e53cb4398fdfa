import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { PATIENCE } from '../support/patience.js';
import { startService } from '../support/service.js';
import { type Answer, bodyOf, Client } from './client.js';
import { eventOf } from './data-folder.js';
import { compiledMain, type Exit, removeCompiled, type ServiceProcess, spawnService } from './process.js';

const PATH = '/audit/org/acme/auditctx/app';
const CLIENTS = 8;
/** Answers, for all clients to be at work. */
const ENOUGH = CLIENTS * 5;
const STOP_MS = 8_000 * PATIENCE;
/** A stop that waits for nothing, on a slow machine. */
const IDLE_STOP_MS = 2_500 * PATIENCE;

afterAll(removeCompiled);

/** A service that was asked to stop while clients kept publishing. */
describe('SIGTERM under load', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'control-stop-'));
  const answers: Answer[] = [];
  let key = '';
  let exit: Exit;
  let tookMs: number;

  beforeAll(async () => {
    const service = spawnService(compiledMain(), dataDir);
    const url = await service.listening;
    key = (await new Client(url, readFileSync(join(dataDir, 'root.key'), 'utf8').trim()).org('acme')).key;
    const clients = Array.from({ length: CLIENTS }, (_, n) => publishUntilRefused(new Client(url, key), n));
    while (answers.length <= 2 * ENOUGH) await delay(5);
    const asked = Date.now();
    exit = await service.end('SIGTERM');
    tookMs = Date.now() - asked;
    await Promise.all(clients);
  });
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

  async function publishUntilRefused(client: Client, n: number): Promise<void> {
    for (let count = 0; ; count += 1) {
      const mode = count % 2 === 0 ? 'true' : 'false';
      const answer = await client.post(`${PATH}?async=${mode}`, eventOf(`${n}-${count}`)).catch(() => undefined);
      if (!answer) return;
      answers.push(answer);
      if (answer.status > 202) return;
    }
  }

  test('ends the process with code 0 in time', () => {
    expect({ code: exit.code, signal: exit.signal }).toEqual({ code: 0, signal: null });
    expect(tookMs).toBeLessThan(STOP_MS);
  });

  test('answers every request either with an acknowledgement or with 503 not_ready', () => {
    const others = answers.filter(({ status }) => status !== 201 && status !== 202);

    expect(answers.length - others.length).toBeGreaterThan(ENOUGH);
    for (const { text } of others) expect(JSON.parse(text)).toMatchObject({ status: 503, code: 'not_ready' });
  });

  test('loses nothing that was acknowledged', async () => {
    const ids = answers.filter(({ status }) => status <= 202).map((answer) => bodyOf<{ id: string }>(answer).id);
    const service = await startService({ dataDir });
    const client = new Client(service.url, key);

    const listed = (await client.all('/audit/org/acme?order=received&pageSize=1000')).map(({ id }) => id);
    await service.stop();

    expect(ids.filter((id) => !listed.includes(id))).toEqual([]);
    expect(new Set(listed).size).toBe(listed.length);
  });
});

describe('SIGTERM', () => {
  let dataDir = '';
  let service: ServiceProcess;
  let url = '';
  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'control-stop-'));
    service = spawnService(compiledMain(), dataDir);
    url = await service.listening;
  });
  afterEach(async () => {
    await service.end('SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  });

  test('ends an idle service at once, though a client keeps its connection open', async () => {
    await fetch(`${url}/health/live`).then((answer) => answer.text());
    const asked = Date.now();

    const exit = await service.end('SIGTERM');

    expect(exit.code).toBe(0);
    expect(Date.now() - asked).toBeLessThan(IDLE_STOP_MS);
  });

  test('waits for no connection whose request was under way, once that is answered', async () => {
    const rootKey = readFileSync(join(dataDir, 'root.key'), 'utf8').trim();
    const body = JSON.stringify({ name: 'slow' });
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const head = ['POST /org HTTP/1.1', 'host: test', `authorization: Bearer ${rootKey}`];
    const about = ['content-type: application/json', `content-length: ${body.length}`];
    socket.write(`${[...head, ...about].join('\r\n')}\r\n\r\n${body.slice(0, 5)}`);
    await delay(200);
    const asked = Date.now();
    const ended = service.end('SIGTERM');
    await delay(200);
    socket.write(body.slice(5));

    let answer = '';
    for await (const text of socket.setEncoding('utf8')) answer += text;

    expect(answer).toMatch(/^HTTP\/1\.1 201 /);
    expect(answer).toMatch(/connection: close/i);
    expect((await ended).code).toBe(0);
    expect(Date.now() - asked).toBeLessThan(IDLE_STOP_MS);
  });
});
