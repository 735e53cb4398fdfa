import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import pino from 'pino';
import { Witnesses } from '../../src/sealing/witnesses.js';
import { NoteSigner, openNote, vkeyOf } from '../../src/tlog/note.js';
import { parsePolicy } from '../../src/tlog/policy.js';
import { SignedLog } from '../support/service-log.js';
import { withTool } from '../support/tools.js';
import { builtWitness, WitnessProcess } from '../support/witness.js';

const LOGGER = pino({ level: 'silent' });
const RUNNING = new AbortController().signal;

interface Asked {
  readonly name: string;
  readonly vkey: string;
  readonly url: string;
}

function witnesses(log: SignedLog, asked: readonly Asked[], quorum: string, now?: () => number): Witnesses {
  const lines = asked.map(({ name, vkey, url }) => `witness ${name} ${vkey} ${url}`);
  const policy = parsePolicy([...lines, quorum, ''].join('\n'));
  return new Witnesses(policy, log.nodes, LOGGER, now);
}

const some = (quorum: number | 'all', ...names: string[]) => `group w ${quorum} ${names.join(' ')}\nquorum w`;

withTool('go', 'version')('the witness of transparency-dev', () => {
  let program: string;
  const running: WitnessProcess[] = [];
  beforeAll(() => {
    program = builtWitness();
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((witness) => witness.stop()));
  });

  async function started(log: SignedLog, name = 'one', keys = [log.signer.vkey]): Promise<WitnessProcess> {
    const witness = new WitnessProcess(program, name, keys);
    running.push(witness);
    return witness.start();
  }

  it('cosigns each checkpoint of a log that grows', async () => {
    const log = new SignedLog();
    const one = await started(log);
    const asking = witnesses(log, [one], 'quorum one');
    for (let cut = 1; cut <= 40; cut += 1) {
      log.append(`cut ${cut}`);
      const note = (await asking.cosign(log.note(), RUNNING)) ?? '';
      const { signatures } = openNote(note, [log.signer.vkey, one.vkey]);
      expect(signatures.map(({ vkey }) => vkey)).toEqual([log.signer.vkey, one.vkey]);
      expect(Math.abs((signatures[1]?.time ?? 0) - Date.now())).toBeLessThan(60_000);
    }
    expect(asking.states).toEqual([{ name: 'one', fault: undefined }]);
  });

  it('is asked what it has cosigned by a process that does not know', async () => {
    const log = new SignedLog().append('a', 'b', 'c');
    const one = await started(log);
    expect(await witnesses(log, [one], 'quorum one').cosign(log.note(), RUNNING)).toContain('one.example');
    log.append('d', 'e');
    const another = witnesses(log, [one], 'quorum one');
    expect(await another.cosign(log.note(), RUNNING)).toContain('one.example');
    expect(await another.cosign(log.append('f').note(), RUNNING)).toContain('one.example');
  });

  it.each([
    ['of the same size', ['a', 'b', 'X'], 'does not extend what it cosigned before'],
    ['that is longer', ['a', 'b', 'X', 'd', 'e', 'f'], 'does not extend what it cosigned before'],
    ['that is shorter', ['a', 'b'], 'cosigned 3 entries of audit.example/audit/-tlog, which has only 2 here'],
  ])('refuses a history %s', async (_, entries, fault) => {
    const log = new SignedLog().append('a', 'b', 'c');
    const one = await started(log);
    expect(await witnesses(log, [one], 'quorum one').cosign(log.note(), RUNNING)).toBeDefined();
    const fork = new SignedLog(log.origin, log.signer).append(...entries);
    const asking = witnesses(fork, [one], 'quorum one');
    expect(await asking.cosign(fork.note(), RUNNING)).toBeUndefined();
    expect(asking.states[0]?.fault).toContain(fault);
    expect(await witnesses(log, [one], 'quorum one').cosign(log.append('d').note(), RUNNING)).toBeDefined();
  });

  it('refuses a log and a key that it does not know', async () => {
    const log = new SignedLog().append('a');
    const one = await started(log);
    const unknown = new SignedLog('other.example/audit/-tlog').append('a');
    const stranger = new SignedLog(log.origin).append('a');
    const [asking, forged] = [witnesses(unknown, [one], 'quorum one'), witnesses(stranger, [one], 'quorum one')];
    expect(await asking.cosign(unknown.note(), RUNNING)).toBeUndefined();
    expect(asking.states[0]?.fault).toContain('does not know the log other.example/audit/-tlog');
    expect(await forged.cosign(stranger.note(), RUNNING)).toBeUndefined();
    // C2SP demands 403 of a witness; this one answers 500.
    expect(forged.states[0]?.fault).toContain('it answered 500');
  });

  it('is missed while it is down, and cosigns the newest checkpoint when it is back', async () => {
    let time = Date.now();
    const log = new SignedLog().append('a');
    const [one, two] = await Promise.all([started(log, 'one'), started(log, 'two')]);
    const asking = witnesses(log, [one, two], some('all', 'one', 'two'), () => time);
    expect(await asking.cosign(log.note(), RUNNING)).toBeDefined();
    await two.stop();
    for (let cut = 0; cut < 5; cut += 1)
      expect(await asking.cosign(log.append(`cut ${cut}`).note(), RUNNING)).toBeUndefined();
    time += 60_000;
    expect(asking.missingMs).toBeGreaterThanOrEqual(60_000);
    expect(asking.states.map(({ fault }) => fault !== undefined)).toEqual([false, true]);
    await two.start();
    expect(await asking.cosign(log.note(), RUNNING)).toContain('two.example');
    expect(asking.missingMs).toBe(0);
  });

  it('is not needed where others make the quorum', async () => {
    const log = new SignedLog().append('a');
    const all = await Promise.all(['one', 'two', 'three'].map((name) => started(log, name)));
    const asking = witnesses(log, all, some(2, 'one', 'two', 'three'));
    await all[0]?.stop();
    const note = (await asking.cosign(log.note(), RUNNING)) ?? '';
    expect(
      openNote(
        note,
        all.map(({ vkey }) => vkey),
      )
        .signatures.map(({ name }) => name)
        .sort(),
    ).toEqual(['three.example', 'two.example']);
    await all[1]?.stop();
    expect(await asking.cosign(log.append('b').note(), RUNNING)).toBeUndefined();
    expect(await witnesses(log, all, 'quorum none').cosign(log.note(), RUNNING)).toContain('three.example');
  });
});

describe('a witness that does not keep to the protocol', () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close().closeAllConnections();
  });

  const key = NoteSigner.generate('bad.example');

  async function served(answer: RequestListener): Promise<Asked> {
    const server = createServer(answer);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    return { name: 'bad', vkey: vkeyOf(key.name, key.publicKey, 0x04), url: `http://127.0.0.1:${port}/prefix/` };
  }

  it.each<[string, RequestListener, string]>([
    [
      'that has no cosignature',
      (_, response) => void response.end('— bad.example AAAA\n'),
      'is a cosignature by bad.example+',
    ],
    ['that is a redirect', (_, response) => void response.writeHead(307, { location: '/x' }).end(), 'redirect'],
    ['that has no end', (_, response) => void response.end(Buffer.alloc(1_000_000)), 'more than 16384 bytes'],
    [
      'that names the same size again and again',
      (_, response) => void response.writeHead(409, { 'content-type': 'text/x.tlog.size' }).end('1\n'),
      'says 1',
    ],
    ['without a size', (_, response) => void response.writeHead(409).end(), 'another root for the same size'],
    ['403', (_, response) => void response.writeHead(403).end(), 'trusts none of the keys that signed'],
    [
      'of an unknown status',
      (_, response) => void response.writeHead(500).end('no\nluck'),
      'it answered 500: "no\\nluck"',
    ],
  ])('is refused with an answer %s', async (_, answer, fault) => {
    const log = new SignedLog().append('a', 'b');
    const asking = witnesses(log, [await served(answer)], 'quorum bad');
    expect(await asking.cosign(log.note(), RUNNING)).toBeUndefined();
    expect(asking.states[0]?.fault).toContain(fault);
  });

  it.each([
    [-600, 'old, by 600'],
    [600, 'from the future, by 600'],
  ])('is refused with a cosignature whose time is off by %d s', async (seconds, fault) => {
    const log = new SignedLog().append('a');
    const now = Math.floor(Date.now() / 1000) * 1000;
    const line = cosignature(key, log.note(), now / 1000 + seconds);
    const asking = witnesses(log, [await served((_, response) => void response.end(line))], 'quorum bad', () => now);
    expect(await asking.cosign(log.note(), RUNNING)).toBeUndefined();
    expect(asking.states[0]?.fault).toContain(fault);
  });

  it('holds up nothing for longer than its time limit, and later checkpoints not at all', async () => {
    const log = new SignedLog().append('a');
    let requests = 0;
    const silent = await served(() => {
      requests += 1;
    });
    const asking = witnesses(log, [silent], 'quorum none');
    const start = performance.now();
    expect(await asking.cosign(log.note(), RUNNING)).toBe(log.note());
    expect(await asking.cosign(log.append('b').note(), RUNNING)).toBe(log.note());
    expect(performance.now() - start).toBeLessThan(4_000);
    expect(requests).toBe(1);
  });
});

function cosignature(signer: NoteSigner, note: string, seconds: number): string {
  const text = note.slice(0, note.lastIndexOf('\n\n') + 1);
  const signed = signer.signatureLine(signer.name, `cosignature/v1\ntime ${seconds}\n${text}`);
  const signature = Buffer.from(signed.trim().split(' ')[2] ?? '', 'base64').subarray(4);
  const time = Buffer.alloc(8);
  time.writeBigUInt64BE(BigInt(seconds));
  const id = Buffer.from(vkeyOf(signer.name, signer.publicKey, 0x04).split('+')[1] ?? '', 'hex');
  return `— ${signer.name} ${Buffer.concat([id, time, signature]).toString('base64')}\n`;
}
