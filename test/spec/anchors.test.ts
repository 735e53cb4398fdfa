import { appendFileSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import type { Anchor, AnchoredCheckpoint } from '../../src/sealing/anchors/anchor.js';
import { Anchoring } from '../../src/sealing/anchors/anchoring.js';
import { FileAnchor } from '../../src/sealing/anchors/file.js';
import { HttpsAnchor } from '../../src/sealing/anchors/https.js';
import { S3Anchor } from '../../src/sealing/anchors/s3.js';
import { TsaAnchor } from '../../src/sealing/anchors/tsa.js';
import { moto, type S3Server, startS3 } from '../support/s3-server.js';
import { SignedLog } from '../support/service-log.js';
import { TimestampAuthority } from '../support/timestamp-authority.js';
import { withTool } from '../support/tools.js';

const folder = () => mkdtempSync(join(tmpdir(), 'control-anchors-'));

function checkpoint(log: SignedLog): AnchoredCheckpoint {
  return { note: log.note(), origin: log.origin, size: log.size };
}

describe('anchoring', () => {
  const running = new AbortController();
  afterAll(() => running.abort());

  /** Keeps what it is given, and fails while `fault` is set. */
  class Kept implements Anchor {
    readonly name = 'kept';
    readonly notes: string[] = [];
    fault: Error | undefined;
    tries = 0;
    async put({ note }: AnchoredCheckpoint): Promise<void> {
      this.tries += 1;
      if (this.fault) throw this.fault;
      this.notes.push(note);
    }
  }

  const until = async (isSo: () => boolean) => {
    while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
  };

  it('gives an anchor the newest checkpoint once an interval, and none twice', async () => {
    const log = new SignedLog();
    const anchor = new Kept();
    let newest: string | undefined;
    const start = performance.now();
    void new Anchoring([anchor], async () => newest, 200, pino({ level: 'silent' })).run(running.signal);
    while (anchor.notes.length < 4) {
      newest = log.append('cut').note();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(performance.now() - start).toBeGreaterThanOrEqual(3 * 200 - 20);
    expect(new Set(anchor.notes).size).toBe(anchor.notes.length);
    const [last, tries] = [newest, anchor.tries];
    await until(() => anchor.notes.at(-1) === last);
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(anchor.tries).toBeLessThanOrEqual(tries + 1);
  });

  it('tries an anchor that fails until it takes what is newest then, and does not hold up others', async () => {
    const log = new SignedLog().append('a');
    const [away, there] = [new Kept(), new Kept()];
    away.fault = new Error('no route to it');
    const anchoring = new Anchoring([away, there], async () => log.note(), 60_000, pino({ level: 'silent' }));
    void anchoring.run(running.signal);
    await until(() => away.tries >= 2 && there.notes.length === 1);
    expect(anchoring.states.map(({ keptAt }) => keptAt !== undefined)).toEqual([false, true]);
    log.append('b');
    away.fault = undefined;
    await until(() => away.notes.length === 1);
    expect(away.notes).toEqual([log.note()]);
  });
});

describe('an anchor that is a file', () => {
  it('has every checkpoint, an empty line after each', async () => {
    const log = new SignedLog();
    const path = join(folder(), 'checkpoints.txt');
    const notes: string[] = [];
    for (const entry of ['a', 'b', 'c']) {
      const next = checkpoint(log.append(entry));
      notes.push(next.note);
      await new FileAnchor(path).put(next);
      await new FileAnchor(path).put(next);
    }
    expect(readFileSync(path, 'utf8')).toBe(notes.map((note) => `${note}\n`).join(''));
  });

  it('has a whole checkpoint after the part of one that a crash left', async () => {
    const log = new SignedLog().append('a');
    const path = join(folder(), 'checkpoints.txt');
    await new FileAnchor(path).put(checkpoint(log));
    appendFileSync(path, 'audit.example/audit/-tlog\n2\nabc');
    await new FileAnchor(path).put(checkpoint(log.append('b')));
    expect(readFileSync(path, 'utf8').split('\n\n').slice(-3).join('\n\n')).toBe(`${log.note()}\n`);
  });
});

describe('an anchor that is a webhook', () => {
  let server: Server;
  let status = 204;
  const received: { request: IncomingMessage; body: string }[] = [];
  beforeAll(async () => {
    server = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text) => {
        body += text;
      });
      request.on('end', () => {
        received.push({ request, body });
        response.writeHead(status).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => void server.close());

  it('gets the note, and the credentials of the address as a header', async () => {
    const { port } = server.address() as AddressInfo;
    const anchor = new HttpsAnchor(new URL(`http://user:pass%20word@127.0.0.1:${port}/hook?token=1`));
    const log = new SignedLog().append('a');
    await anchor.put(checkpoint(log));
    expect(received[0]?.body).toBe(log.note());
    expect(received[0]?.request.url).toBe('/hook?token=1');
    expect(received[0]?.request.headers.authorization).toBe(`Basic ${btoa('user:pass word')}`);
    expect(anchor.name).toBe(`http://127.0.0.1:${port}`);
    status = 503;
    await expect(anchor.put(checkpoint(log))).rejects.toThrow('answered 503');
  });
});

withTool('openssl', 'version')('an anchor that is a timestamp authority', () => {
  let authority: TimestampAuthority;
  let url: URL;
  beforeAll(async () => {
    authority = new TimestampAuthority();
    url = await authority.start();
  });
  afterAll(() => authority.stop());

  it('leaves the note and a timestamp that openssl verifies', async () => {
    const log = new SignedLog().append('a', 'b');
    const kept = folder();
    await new TsaAnchor(url, kept).put(checkpoint(log));
    const files = readdirSync(kept, { recursive: true, encoding: 'utf8' }).map((name) => join(kept, name));
    const [note = '', reply = ''] = ['2.note', '2.tsr'].map((name) => files.find((file) => file.endsWith(name)));
    expect(readFileSync(note, 'utf8')).toBe(log.note());
    expect(authority.verify(note, reply)).toContain('Verification: OK');
    appendFileSync(note, 'x');
    expect(authority.verify(note, reply)).toContain('Verification: FAILED');
  });

  it('leaves nothing when it is away, or stamps something else', async () => {
    const log = new SignedLog().append('a');
    const kept = folder();
    const anchor = new TsaAnchor(url, kept);
    authority.down = 503;
    await expect(anchor.put(checkpoint(log))).rejects.toThrow('answered 503');
    authority.down = undefined;
    const other = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/timestamp-reply' });
      response.end(Buffer.from('30053003020102', 'hex'));
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const refusing = new TsaAnchor(new URL(`http://127.0.0.1:${(other.address() as AddressInfo).port}`), kept);
    await expect(refusing.put(checkpoint(log))).rejects.toThrow('granted no timestamp: its status is 2');
    other.close();
    expect(readdirSync(kept)).toEqual([]);
  });
});

const python = moto();

(python === undefined && process.env.CI !== 'true' ? describe.skip : describe)('an anchor that is a bucket', () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3(python ?? 'python3');
  }, 180_000);
  afterAll(() => server.stop());

  const place = (bucket = 'locked') => ({
    ...{ bucket, prefix: 'control (1)/', region: 'eu-central-1', days: 30 },
    ...{ endpoint: server.url, credentials: server.credentials },
  });

  it('keeps every checkpoint as an object that nobody can delete before its time', async () => {
    const log = new SignedLog();
    const notes: string[] = [];
    for (const entry of ['a', 'b']) {
      await new S3Anchor(place()).put(checkpoint(log.append(entry)));
      notes.push(log.note());
    }
    const objects = server.objects();
    expect(objects.map(({ key, body }) => [key, body])).toEqual([
      ['control (1)/audit.example/audit/-tlog/0000000000000001', notes[0]],
      ['control (1)/audit.example/audit/-tlog/0000000000000002', notes[1]],
    ]);
    expect(objects.map(({ mode, deleted }) => [mode, deleted])).toEqual(Array(2).fill(['COMPLIANCE', 'AccessDenied']));
    for (const { until } of objects) expect((Date.parse(until) - Date.now()) / 86_400_000).toBeCloseTo(30, 1);
  });

  it('must have Object Lock', async () => {
    const put = new S3Anchor(place('unlocked')).put(checkpoint(new SignedLog().append('a')));
    await expect(put).rejects.toThrow('s3://unlocked/control (1)/ answered 400 InvalidRequest');
  });

  it('refuses the signature of another secret', async () => {
    const credentials = { ...server.credentials, secretAccessKey: 'not the secret' };
    const put = new S3Anchor({ ...place(), credentials }).put(checkpoint(new SignedLog().append('a')));
    await expect(put).rejects.toThrow('answered 403 SignatureDoesNotMatch');
  });
});
