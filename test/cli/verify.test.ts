import { copyFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newOrg, type Org } from '../support/api.js';
import { checkpointed, SEALED_OFTEN, vkeyOfLog } from '../support/proofs.js';
import { startService, type TestService } from '../support/service.js';
import { svc, temporaryFolder } from './support/svc.js';

/** `svc` as an auditor uses it, against the real service. */
let service: TestService;
let org: Org;
let env: Record<string, string>;
let folder: string;

beforeAll(async () => {
  service = await startService({ env: SEALED_OFTEN });
});

beforeEach(async () => {
  org = await newOrg(service);
  folder = temporaryFolder();
  env = { SVC_ENDPOINT: service.url, SVC_ORG: org.name, SVC_TOKEN: org.key, XDG_STATE_HOME: join(folder, 'state') };
  await org.bulk(Array.from({ length: 20 }, (_, index) => ({ resource: { name: `r${index}` } })));
  await checkpointed(org);
});

afterAll(() => service?.remove());

const audit = (args: readonly string[], more: Record<string, string> = {}) =>
  svc(['audit', ...args], { env: { ...env, ...more } });
const fileIn = (name: string) => join(folder, name);
/** No network, and no key of the service. */
const OFFLINE = { SVC_ENDPOINT: 'http://127.0.0.1:1', SVC_TOKEN: '' };

async function exported(name = 'acme.ndjson', ...args: string[]): Promise<string> {
  const file = fileIn(name);
  const { code, stderr } = await audit(['export', '--file', file, '--proof', ...args]);
  expect([code, stderr]).toEqual([
    0,
    expect.stringMatching(/^exported \d+; \S+\.proof proves them: svc audit verify \S+\n$/),
  ]);
  return file;
}

function pins(): { file: string; text: string }[] {
  const at = join(folder, 'state', 'svc', 'tlog');
  return readdirSync(at).map((name) => ({ file: join(at, name), text: readFileSync(join(at, name), 'utf8') }));
}

describe('an export and its proof', () => {
  it('verify offline, and it is said what is not shown', async () => {
    const file = await exported();
    const { code, stdout, stderr } = await audit(['verify', file], OFFLINE);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^verified: \S+acme.ndjson: all \d+ events of the history\n/);
    expect(stdout).toContain('not shown:\n');
    expect(stdout).toContain('No witness');
    expect(stdout).toMatch(/continues the checkpoint of \d+ leaves/);
    const { stdout: json } = await audit(['verify', file, '-o', 'json'], OFFLINE);
    expect(JSON.parse(json)).toMatchObject({ kind: 'verification', closed: 0, notShown: expect.any(Array) });
  });

  it('has the bytes of the plain export', async () => {
    const [proven, plain] = [await exported(), fileIn('plain.ndjson')];
    await audit(['export', '--file', plain]);
    expect(readFileSync(plain, 'utf8').startsWith(readFileSync(proven, 'utf8'))).toBe(true);
    expect(statSync(`${proven}.proof`).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('do not verify after one byte was changed, and the line is named', async () => {
    const file = await exported();
    const bytes = readFileSync(file, 'utf8').split('\n');
    bytes[9] = bytes[9]?.replace('"r', '"R') ?? '';
    writeFileSync(file, bytes.join('\n'));
    const { code, stdout, stderr } = await audit(['verify', file], OFFLINE);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^error: not verified: Line 10 /);
  });

  it('of a filter verify, and the leaves left out are counted', async () => {
    const file = await exported('some.ndjson', '--resource-name', 'r3');
    const { code, stdout } = await audit(['verify', file], OFFLINE);
    expect(code).toBe(0);
    expect(stdout).toMatch(/: 1 of \d+ events of the history\n/);
    expect(stdout).toMatch(/\d+ of the history's entries have no event in the export\. .* \d+ left out by the filters/);
  });

  it('never replace a file, and leave none when they fail', async () => {
    const file = fileIn('there.ndjson');
    writeFileSync(`${file}.proof`, 'mine');
    const { code, stderr } = await audit(['export', '--file', file, '--proof']);
    expect([code, stderr, readFileSync(`${file}.proof`, 'utf8')]).toEqual([
      1,
      expect.stringContaining('already exists'),
      'mine',
    ]);
    expect(existsSync(file)).toBe(false);
  });

  it.each([['--proof'], ['--file', 'x', '--proof', '--resume'], ['--file', 'x', '--proof', '--max', '3']])(
    'a usage error: export %s %s %s',
    async (...args) => {
      expect((await audit(['export', ...args.filter((one) => one !== undefined)])).code).toBe(2);
    },
  );
});

describe('whom to believe', () => {
  it('is a usage error while nothing says it, and --vkey says it', async () => {
    const file = await exported();
    const elsewhere = { ...OFFLINE, XDG_STATE_HOME: fileIn('auditor') };
    const unknown = await audit(['verify', file], elsewhere);
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('--vkey')]);
    const vkey = await vkeyOfLog(org);
    expect((await audit(['verify', file, '--vkey', vkey], elsewhere)).code).toBe(0);
    // From then on it is pinned.
    expect((await audit(['verify', file], elsewhere)).code).toBe(0);
    expect((await audit(['verify', file, '--vkey', 'nonsense'], elsewhere)).code).toBe(2);
  });

  it('is the number of the organization, too', async () => {
    const file = await exported();
    expect((await audit(['verify', file, '--number', '999'], OFFLINE)).code).toBe(1);
    const { stdout } = await audit(['verify', file, '-o', 'json'], OFFLINE);
    const { head } = JSON.parse(stdout) as { head: { number: number } };
    const elsewhere = { ...OFFLINE, XDG_STATE_HOME: fileIn('auditor') };
    const vkey = await vkeyOfLog(org);
    expect((await audit(['verify', file, '--vkey', vkey, '--number', String(head.number)], elsewhere)).code).toBe(0);
    expect((await audit(['verify', file, '--vkey', vkey, '--number', String(head.number + 1)], elsewhere)).code).toBe(
      1,
    );
  });

  it('is not another key than the pinned one', async () => {
    const file = await exported();
    const other = await startService({ env: SEALED_OFTEN });
    try {
      const stranger = await newOrg(other);
      await checkpointed(stranger);
      const [pin] = pins();
      const wrong = { ...(JSON.parse(pin?.text ?? '') as object), vkey: await vkeyOfLog(stranger) };
      writeFileSync(pin?.file ?? '', JSON.stringify(wrong));
      const offline = await audit(['verify', file], OFFLINE);
      const online = await audit(['verify']);
      expect([offline.code, online.code]).toEqual([1, 1]);
      expect(online.stderr).toContain(pin?.file);
    } finally {
      await other.remove();
    }
  });

  it('is an earlier checkpoint, kept in a file', async () => {
    const before = await audit(['checkpoint']);
    expect([before.code, before.stdout]).toEqual([0, expect.stringContaining('control-cut')]);
    writeFileSync(fileIn('before.note'), before.stdout);
    await org.publish({ resource: { name: 'later' } });
    await checkpointed(org);
    const file = await exported();
    const { code, stdout } = await audit(['verify', file, '--pinned', fileIn('before.note')], OFFLINE);
    expect([code, stdout]).toEqual([0, expect.stringContaining('continues the checkpoint')]);
  });

  it('is not a history that ends too early', async () => {
    const file = await exported();
    expect((await audit(['verify', file, '--after', '2020-01-01'], OFFLINE)).code).toBe(0);
    const stale = await audit(['verify', file, '--after', '2190-01-01'], OFFLINE);
    expect([stale.code, stale.stderr]).toEqual([1, expect.stringContaining('not verified')]);
  });
});

describe('what the service shows', () => {
  it('is pinned at first, and must continue the pin from then on', async () => {
    const first = await audit(['verify']);
    expect([first.code, first.stderr]).toEqual([0, expect.stringContaining('pinned for the first time')]);
    await org.publish({ resource: { name: 'later' } });
    await checkpointed(org);
    const again = await audit(['verify']);
    expect([again.code, again.stderr]).toEqual([0, '']);
    expect(again.stdout).toMatch(/continues the pinned checkpoint of \d+ leaves/);
  });

  it('is read and verified whole with --full', async () => {
    const { code, stdout } = await audit(['verify', '--full']);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/: all \d+ events of the history\n/)]);
  });

  it.each([
    ['shrank', (text: string) => text.replace(/\n\d+\n/, '\n99999\n')],
    [
      'another history',
      (text: string) => text.replace(/(\n\d+\n)(.)/, (_, size, first) => size + (first === 'A' ? 'B' : 'A')),
    ],
  ])('is not verified if it %s since the pin', async (_what, change) => {
    await audit(['verify']);
    const [pin] = pins();
    const { note, ...others } = JSON.parse(pin?.text ?? '') as { note: string };
    writeFileSync(pin?.file ?? '', JSON.stringify({ ...others, note: change(note) }));
    const { code, stdout, stderr } = await audit(['verify']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/not verified: the log (has \d+ leaves, and had 99999|does not continue)/);
    // The evidence is kept.
    expect(JSON.parse(pins()[0]?.text ?? '')).toEqual({ ...others, note: change(note) });
  });

  it('is not verified under another number or origin than the pinned ones', async () => {
    await audit(['verify']);
    const [pin] = pins();
    const known = JSON.parse(pin?.text ?? '') as { number: number; origin: string };
    writeFileSync(pin?.file ?? '', JSON.stringify({ ...known, number: known.number + 1 }));
    const number = await audit(['verify']);
    expect([number.code, number.stderr]).toEqual([1, expect.stringContaining("the log's number is")]);
    writeFileSync(pin?.file ?? '', JSON.stringify(known));
    const moved = `${pin?.file.replace('.json', '')}x.json`;
    copyFileSync(pin?.file ?? '', moved);
    writeFileSync(moved, JSON.stringify({ ...known, origin: `${known.origin}x` }));
    writeFileSync(pin?.file ?? '', JSON.stringify({ ...known, origin: `${known.origin}x` }));
    const origin = await audit(['verify']);
    expect([origin.code, origin.stderr]).toEqual([1, expect.stringContaining("the log's origin is")]);
  });

  it('is not verified with a damaged pin', async () => {
    await audit(['verify']);
    writeFileSync(pins()[0]?.file ?? '', '{');
    const { code, stderr } = await audit(['verify']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('is damaged')]);
  });
});

describe('one event', () => {
  it('is proven, and its files verify offline until a byte changes', async () => {
    const { body } = await org.publish({ resource: { name: 'one', data: { big: 1 } } });
    const [proof, event] = [fileIn('event.tlog-proof'), fileIn('event.json')];
    const { code, stderr } = await audit(['prove', body.id, '--out', proof, '--event', event]);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/verified: \S+ is leaf \d+ of \d+\n$/)]);
    const args = ['verify', '--event', event, '--proof', proof];
    expect((await audit(args, OFFLINE)).code).toBe(0);
    writeFileSync(event, readFileSync(event, 'utf8').replace('"one"', '"two"'));
    const altered = await audit(args, OFFLINE);
    expect([altered.code, altered.stderr]).toEqual([1, expect.stringContaining('not verified')]);
  });

  it('has its proof on standard output, unless it does not exist', async () => {
    const { body } = await org.publish({ resource: { name: 'one' } });
    expect((await audit(['prove', body.id])).stdout).toMatch(/^c2sp.org\/tlog-proof@v1\nextra /);
    const { code, stderr } = await audit(['prove', '01890a5d-ac96-774b-bcce-b302099a8057']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('not_found')]);
  });
});

it.each([
  ['verify', 'a', '--event', 'b', '--proof', 'c'],
  ['verify', '--event', 'b'],
  ['verify', '--proof', 'c'],
  ['verify', 'a', '--full'],
  ['verify', 'a', '--number', '-1'],
  ['verify', 'a', '--after', 'noon'],
  ['prove'],
])('a usage error: %s %s %s', async (...args) => {
  expect((await audit(args)).code).toBe(2);
});

it('an export waits for the first checkpoint of a new organization', async () => {
  const slow = await startService({ env: { CONTROL_TLOG_INTERVAL_MS: '3000' } });
  try {
    const { key, name } = await newOrg(slow);
    const told = { SVC_ENDPOINT: slow.url, SVC_ORG: name, SVC_TOKEN: key };
    const { code, stderr } = await audit(['export', '--file', fileIn('new.ndjson'), '--proof'], told);
    expect([code, stderr]).toEqual([0, expect.stringContaining('new.ndjson.proof proves them')]);
  } finally {
    await slow.remove();
  }
});

it('a file that is not there is named', async () => {
  const { code, stderr } = await audit(['verify', fileIn('none.ndjson')]);
  expect([code, stderr]).toEqual([1, expect.stringContaining('none.ndjson.proof')]);
});
