import {
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { newOrg, type Org, withQuery } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';
import { answer, closeServers, scriptedServer } from './support/scripted-server.js';
import { startSvc, svc, temporaryFolder } from './support/svc.js';

let service: TestService;
let org: Org;
let env: Record<string, string>;
let file: string;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.remove());

beforeEach(async () => {
  org = await newOrg(service);
  env = { SVC_ENDPOINT: service.url, SVC_ORG: org.name, SVC_TOKEN: org.key };
  file = join(temporaryFolder(), 'events.ndjson');
});
afterEach(closeServers);

const exporting = (...args: string[]) => svc(['audit', 'export', ...args], { env });
const numbered = (count: number) => Array.from({ length: count }, (_, index) => ({ resource: { name: `n${index}` } }));

/** The lines that the service's own export of the same has. */
async function expected(query: Record<string, string> = {}): Promise<string> {
  const { text } = await org.api.get(withQuery(`${org.audit}/-export`, query));
  return withoutExports(text.slice(0, text.lastIndexOf('{"kind":"exportend"')));
}

/** Exports are recorded themselves: one that is going on may show the record of its own begin. */
function withoutExports(text: string): string {
  return text.replace(/^.*"action":\{"type":"export.*\n/gm, '');
}

describe('svc audit export', () => {
  it('writes every event as it was recorded, in the order received', async () => {
    await org.bulk(numbered(450));
    await org.publish('{"resource":{"name":"exact","data":{"n":12345678901234567890123,"t":"\\u2028é\u202e"}}}');
    const { code, stdout, stderr } = await exporting();
    expect([code, stderr]).toEqual([0, 'exported 458\n']);
    expect(withoutExports(stdout)).toBe(await expected());
    expect(stdout).toContain('12345678901234567890123');
  });

  it('gives the file its name when it is complete', async () => {
    await org.bulk(numbered(450));
    const { code, stdout, stderr } = await exporting('--file', file);
    expect([code, stdout, stderr]).toEqual([0, '', 'exported 457\n']);
    expect(withoutExports(readFileSync(file, 'utf8'))).toBe(await expected());
    expect(readdirSync(join(file, '..'))).toEqual(['events.ndjson']);
  });

  it('creates files that only their owner can read, and replaces none', async () => {
    expect((await exporting('--file', file)).code).toBe(0);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { code, stderr } = await exporting('--file', file);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${file} already exists; choose another name`)]);
    const target = join(file, '..', 'target');
    symlinkSync(target, `${file}.link`);
    expect((await exporting('--file', `${file}.link`)).code).toBe(1);
    symlinkSync(target, `${file}.2.part`);
    expect((await exporting('--file', `${file}.2`)).stderr).toContain(`${file}.2.part already exists`);
    expect((await exporting('--file', `${file}.2`, '--resume')).code).toBe(0);
    expect(lstatSync(`${file}.2`).isFile()).toBe(true);
    expect(existsSync(target)).toBe(false);
  });

  it('replaces a file with --force, once the export is complete', async () => {
    for (const proof of [[], ['--proof']]) {
      writeFileSync(file, 'old');
      const { code, stderr } = await exporting('--file', file, '--force', ...proof);
      expect([code, stderr]).toEqual([0, expect.stringContaining('exported ')]);
      expect(readFileSync(file, 'utf8')).toMatch(/^\{/);
    }
    writeFileSync(file, 'old');
    expect((await exporting('--file', file, '--force', '--token', 'svc_unknown')).code).toBe(4);
    expect(readFileSync(file, 'utf8')).toBe('old');
    expect((await exporting('--force')).code).toBe(2);
  });

  it('takes filters and --max', async () => {
    await org.bulk(numbered(30));
    await org.publish({ resource: { name: 'web' } }, { context: 'other' });
    const app = await exporting('--context', 'app', '--since', '1h');
    expect(app.stdout).toBe(await expected({ contextName: 'app' }));
    expect((await exporting('--resource-name', 'web')).stdout).toBe(await expected({ resourceName: 'web' }));
    expect((await exporting('--context', 'app', '--max', '7')).stderr).toBe('exported 7\n');
    expect((await exporting('--context', 'none')).stdout).toBe('');
  });

  it('refuses options that make no sense', async () => {
    expect((await exporting('--resume')).code).toBe(2);
    expect((await exporting('-o', 'yaml')).code).toBe(2);
    const { code, stderr } = await exporting('--file', join(file, 'x'));
    expect([code, stderr]).toEqual([1, expect.stringContaining(`cannot write ${file}/x: there is no such file`)]);
    expect((await exporting('--token', 'svc_unknown')).code).toBe(4);
  });

  it('stops quietly when nobody reads', async () => {
    await org.bulk(numbered(900));
    const { code, stderr } = await svc(['audit', 'export'], { env, closeAfter: 1_000 });
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('error')]);
  });
});

/** The real service behind one that breaks: from request `from` on it answers nothing whole. */
async function breaking(from: number) {
  const state = { broken: true };
  const { url, seen } = await scriptedServer(async (request, response, index) => {
    const headers = { authorization: request.headers.authorization ?? '' };
    const answered = await fetch(service.url + request.url, { headers });
    const text = await answered.text();
    if (!state.broken || index < from) return answer(response, answered.status, text);
    response.writeHead(200, { 'content-length': String(text.length + 1) }).write(text.slice(0, -10));
    setTimeout(() => response.destroy(), 5);
  });
  return { url, seen, state };
}

describe('an export that breaks off', () => {
  it('ends with 1, leaves no file that looks whole, and goes on with --resume', async () => {
    await org.bulk(numbered(900));
    const { url, seen, state } = await breaking(2);
    env = { ...env, SVC_ENDPOINT: url };
    const first = await exporting('--file', file);
    expect(first.code).toBe(1);
    expect(first.stderr).toContain('error: the export is not complete, it stopped after 400: ');
    expect(first.stderr).toContain('--resume');
    expect([existsSync(file), existsSync(`${file}.part`)]).toEqual([false, true]);

    state.broken = false;
    const asked = seen.length;
    const second = await exporting('--file', file, '--resume');
    expect([second.code, second.stderr]).toEqual([0, 'exported 907\n']);
    expect(seen.length - asked).toBe(3);
    expect(withoutExports(readFileSync(file, 'utf8'))).toBe(await expected());
    expect(readdirSync(join(file, '..'))).toEqual(['events.ndjson']);
  });

  it('says to start again when the service refuses its cursor', async () => {
    await org.bulk(numbered(500));
    const { url, state } = await breaking(1);
    env = { ...env, SVC_ENDPOINT: url };
    expect((await exporting('--file', file)).code).toBe(1);
    state.broken = false;
    const place = readFileSync(`${file}.part.place`, 'utf8');
    const ofAnotherVersion = place.replace(/cursor=[^&"]+/, 'cursor=AAAA');
    expect(ofAnotherVersion).not.toBe(place);
    writeFileSync(`${file}.part.place`, ofAnotherVersion);
    const { code, stderr } = await exporting('--file', file, '--resume');
    expect([code, stderr]).toEqual([1, expect.stringContaining('(invalid_cursor, ')]);
    expect(stderr).toContain(`remove ${file}.part, and begin anew without --resume`);
    expect(stderr).not.toContain('goes on from there');

    rmSync(`${file}.part`);
    expect((await exporting('--file', file)).stderr).toMatch(/^exported \d+\n$/);
  });

  it('ends with 130 on Ctrl-C and can be resumed; text after the noted position is cut off', async () => {
    await org.bulk(numbered(500));
    const { url, state } = await breaking(1);
    env = { ...env, SVC_ENDPOINT: url };
    const begun = startSvc(['audit', 'export', '--file', file, '-v'], { env });
    await begun.until(({ stderr }) => stderr.includes('again in'));
    begun.kill('SIGINT');
    const { code, stderr } = await begun.ended;
    expect([code, stderr]).toEqual([130, expect.stringContaining('stopped after 200; the same command with --resume')]);

    writeFileSync(`${file}.part`, 'half an ev', { flag: 'a' });
    state.broken = false;
    expect((await exporting('--file', file, '-v', '--resume')).code).toBe(0);
    expect(withoutExports(readFileSync(file, 'utf8'))).toBe(await expected());
  });

  it('is not resumed with other options, and starts again if there is nothing to continue', async () => {
    await org.bulk(numbered(500));
    const { url, state } = await breaking(1);
    env = { ...env, SVC_ENDPOINT: url };
    expect((await exporting('--file', file, '--context', 'app')).code).toBe(1);
    state.broken = false;
    const other = await exporting('--file', file, '--context', 'app', '--resource-type', 't', '--resume');
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('other options')]);
    writeFileSync(`${file}.part`, '');
    expect((await exporting('--file', file, '--context', 'app', '--resume')).stderr).toBe('exported 500\n');
    expect(readFileSync(file, 'utf8')).toBe(await expected({ contextName: 'app' }));
    rmSync(file);
    expect((await exporting('--file', file, '--context', 'none', '--resume')).stderr).toBe('exported 0\n');
  });

  it('continues only a plain file, never one behind a link', async () => {
    await org.bulk(numbered(500));
    const { url, state } = await breaking(1);
    env = { ...env, SVC_ENDPOINT: url };
    expect((await exporting('--file', file)).code).toBe(1);
    state.broken = false;
    const other = join(file, '..', 'other');
    copyFileSync(`${file}.part`, other);
    const before = readFileSync(other, 'utf8');
    for (const replace of [symlinkSync, linkSync]) {
      rmSync(`${file}.part`);
      replace(other, `${file}.part`);
      const { code, stderr } = await exporting('--file', file, '--resume');
      expect([code, stderr]).toEqual([1, expect.stringContaining(`${file}.part is not a file of this command`)]);
    }
    expect(readFileSync(other, 'utf8')).toBe(before);
  });

  it('to standard output ends with 1', async () => {
    await org.bulk(numbered(500));
    env = { ...env, SVC_ENDPOINT: (await breaking(1)).url };
    const { code, stdout, stderr } = await exporting();
    expect([code, stdout.split('\n').length - 1]).toEqual([1, 200]);
    expect(stderr).toContain('not complete, it stopped after 200');
  });
});
