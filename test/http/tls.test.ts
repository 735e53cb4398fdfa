import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { pino } from 'pino';
import { ConfigError, readConfig } from '../../src/platform/config/config.js';
import { svc } from '../cli/support/svc.js';
import { answersOn, notARefusal, openSocket } from '../hardening/raw-http.js';
import { type Certificate, selfSigned } from '../support/certificate.js';
import { PATIENCE } from '../support/patience.js';
import { startService, type TestService } from '../support/service.js';

let folder: string;
let pair: Certificate;
let other: Certificate;
let service: TestService | undefined;
let lines: Record<string, unknown>[];
let sockets: { destroy(): void }[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'control-tls-'));
  pair = selfSigned(folder);
  other = selfSigned(folder, 'other');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await service?.remove();
  service = undefined;
});

async function start(env: Readonly<Record<string, string>> = {}, { certFile, keyFile } = pair): Promise<TestService> {
  lines = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) });
  service = await startService({
    env: { CONTROL_TLS_CERT_FILE: certFile, CONTROL_TLS_KEY_FILE: keyFile, ...env },
    logger,
  });
  return service;
}

/** The status of an answer over a connection of its own. */
function ask(url: string, options: ConnectionOptions = {}, path = '/health/live'): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request(url + path, { agent: false, ca: [pair.cert, other.cert], ...options });
    asked.once('response', (answer) => resolve(answer.resume().statusCode));
    asked.once('error', reject).end();
  });
}

function openSecure(url: string): Promise<TLSSocket> {
  const { hostname: host, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port), ca: pair.cert, allowHalfOpen: true } as ConnectionOptions);
    sockets.push(socket);
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      socket.off('error', reject).on('error', () => undefined);
      resolve(socket);
    });
  });
}

/** The serial number of the certificate that a new connection is shown. */
async function shown(url: string): Promise<string> {
  const socket = await openSecure(url).catch(() => undefined);
  const serial = socket?.getPeerCertificate().serialNumber ?? 'not the first';
  socket?.destroy();
  return serial;
}

async function logged(message: string): Promise<Record<string, unknown>> {
  for (;;) {
    const found = lines.find(({ msg }) => String(msg).includes(message));
    if (found) return found;
    await delay(50);
  }
}

test('serves TLS 1.2 and 1.3, and no older version', async () => {
  const { url } = await start();
  expect(url).toMatch(/^https:/);
  expect(await ask(url, { maxVersion: 'TLSv1.2' })).toBe(200);
  expect(await ask(url, { minVersion: 'TLSv1.3' })).toBe(200);
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
  await expect(ask(url, old)).rejects.toThrow(/protocol version|unsupported protocol/i);
});

test('svc works with it when it knows the authority, and says what is missing when not', async () => {
  const { url, rootKey } = await start();
  const call = ['org', 'create', '--name', 'acme', '--endpoint', url, '--token', rootKey];
  const stranger = await svc(call);
  expect([stranger.code, stranger.stderr]).toEqual([1, expect.stringContaining('NODE_EXTRA_CA_CERTS')]);
  const known = await svc(call, { env: { NODE_EXTRA_CA_CERTS: pair.certFile } });
  expect([known.code, known.stderr]).toEqual([0, expect.any(String)]);
});

test('a fault of the client is answered with the Error body, and its connection closed whatever the client does', async () => {
  const { url } = await start();
  const socket = await openSecure(url);
  socket.write('NOT HTTP AT ALL\r\n\r\n');
  const { answers } = await answersOn(socket, 1, 5_000);
  expect(answers.map(notARefusal)).toEqual([undefined]);
  const closed = new Promise<boolean>((resolve) => socket.once('close', () => resolve(true)));
  const nudge = setInterval(() => socket.write('x'), 50);
  expect(await Promise.race([closed, delay(1_500 * PATIENCE, false)])).toBe(true);
  clearInterval(nudge);
});

test('what is not TLS is not answered', async () => {
  const { url } = await start();
  const { hostname: host, port } = new URL(url);
  const socket = connectPlain({ host, port: Number(port) });
  sockets.push(socket);
  socket.on('error', () => undefined);
  let received = '';
  socket.on('data', (data) => {
    received += data.toString('latin1');
  });
  socket.write('GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n');
  await new Promise((resolve) => socket.once('close', resolve));
  expect(received).not.toContain('HTTP');
});

test('holds its bounds: connections that shake no hands and idle ones make room for others', async () => {
  const { url } = await start({ CONTROL_MAX_CONNECTIONS: '10' });
  for (let n = 0; n < 15; n += 1) {
    const socket = await openSocket(url);
    sockets.push(socket);
    const idle = await openSecure(url);
    idle.write('GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n');
    await answersOn(idle, 1, 5_000);
    expect(await ask(url)).toBe(200);
  }
});

test('stops at once while handshakes are under way', async () => {
  const { url, stop } = await start();
  sockets.push(await openSocket(url), await openSecure(url));
  const began = performance.now();
  await stop();
  expect(performance.now() - began).toBeLessThan(3_000 * PATIENCE);
});

test('takes a new certificate up, and keeps the old one while the new pair does not fit together', async () => {
  const [certFile, keyFile] = [join(folder, 'live.pem'), join(folder, 'live.key.pem')];
  copyFileSync(pair.certFile, certFile);
  copyFileSync(pair.keyFile, keyFile);
  const { url } = await start({}, { ...pair, certFile, keyFile });
  const first = await shown(url);
  const open = await openSecure(url);
  const again = async () => {
    open.write('GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n');
    return (await answersOn(open, 1, 5_000)).answers.map(({ status }) => status);
  };
  expect(await again()).toEqual([200]);

  copyFileSync(other.certFile, certFile);
  expect(await logged('the old certificate stays in use')).toMatchObject({ level: 50, certFile });
  expect(await shown(url)).toBe(first);

  copyFileSync(other.keyFile, keyFile);
  await logged('the new certificate is in use');
  expect(await shown(url)).not.toBe(first);
  await expect(
    ask(url, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' }),
  ).rejects.toThrow();
  expect(await ask(url)).toBe(200);
  expect(await again()).toEqual([200]);
  expect(JSON.stringify(lines)).not.toContain('PRIVATE KEY');
}, 60_000);

describe('the settings', () => {
  const faultsOf = (env: Record<string, string>): readonly string[] => {
    try {
      readConfig(env);
      return [];
    } catch (error) {
      return (error as ConfigError).faults;
    }
  };

  test('need both files, of a pair that belongs together', () => {
    const [cert, key] = ['CONTROL_TLS_CERT_FILE', 'CONTROL_TLS_KEY_FILE'];
    expect(faultsOf({ [cert]: pair.certFile, [key]: pair.keyFile })).toEqual([]);
    expect(faultsOf({ [cert]: pair.certFile })).toEqual([`${key}: must be set beside ${cert}`]);
    expect(faultsOf({ [key]: pair.keyFile })).toEqual([`${cert}: must be set beside ${key}`]);
    expect(faultsOf({ [cert]: pair.certFile, [key]: other.keyFile })).toEqual([
      expect.stringContaining('belong together'),
    ]);
    expect(faultsOf({ [cert]: pair.certFile, [key]: '/none' })).toEqual([
      expect.stringContaining(`${key}: the file cannot be read`),
    ]);
    const text = join(folder, 'text');
    writeFileSync(text, 'a secret');
    const [fault] = faultsOf({ [cert]: pair.certFile, [key]: text });
    expect(fault).toContain('belong together');
    expect(fault).not.toContain('a secret');
  });

  test('a service that others can reach without TLS warns of it', async () => {
    await start({ CONTROL_HOST: '0.0.0.0', CONTROL_TLS_CERT_FILE: '', CONTROL_TLS_KEY_FILE: '' });
    expect(lines.filter(({ msg }) => String(msg).includes('travel unencrypted'))).toHaveLength(1);
    await service?.remove();
    for (const env of [
      { CONTROL_HOST: '0.0.0.0' },
      { CONTROL_HOST: 'localhost', CONTROL_TLS_CERT_FILE: '', CONTROL_TLS_KEY_FILE: '' },
    ]) {
      await start(env);
      expect(lines.filter(({ msg }) => String(msg).includes('travel unencrypted'))).toEqual([]);
      await service?.remove();
    }
  });
});
