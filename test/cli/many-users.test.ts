import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Org } from '../support/api.js';
import { Seed } from '../support/seed.js';
import { startService, type TestService } from '../support/service.js';
import { svc, temporaryFolder } from './support/svc.js';

const [FEW, MANY] = [2_000, 20_000];

let service: TestService;
let org: Org;

beforeAll(async () => {
  const seed = new Seed();
  const key = seed.org('acme');
  for (let n = 0; n < MANY; n++) seed.user('acme', `user-${n}@example.com`, { tags: { team: `team-${n % 7}` } });
  service = await startService({ dataDir: await seed.write() });
  org = new Org(service.url, 'acme', key);
}, 120_000);

afterAll(() => service.remove());

/** How many lines came, and the most memory that the process had at once, in MiB. */
async function run(...args: string[]): Promise<{ lines: number; text: string; memory: number }> {
  const folder = temporaryFolder();
  const [probe, peak] = [join(folder, 'probe.mjs'), join(folder, 'peak')];
  writeFileSync(
    probe,
    `import { writeFileSync } from 'node:fs';
    process.on('exit', () => writeFileSync(${JSON.stringify(peak)}, String(process.resourceUsage().maxRSS)));`,
  );
  const env = {
    SVC_ENDPOINT: service.url,
    SVC_ORG: org.name,
    SVC_TOKEN: org.key,
    NODE_OPTIONS: `--import=${pathToFileURL(probe)}`,
  };
  const { code, stdout, stderr } = await svc(args, { env });
  expect([code, stderr]).toEqual([0, '']);
  const memory = Number(await readFile(peak, 'utf8')) / 1024;
  return { lines: stdout.split('\n').length - 1, text: stdout, memory };
}

it.each(['names', 'text', 'json', 'yaml-slim'])(
  'all of 20,000 users, -o %s, take the memory of 2,000',
  async (format) => {
    const few = await run('user', 'get', '--max', String(FEW), '-o', format);
    const many = await run('user', 'get', '--max', '0', '-o', format);
    const found = many.text.match(/user-\d+@example\.com/g) ?? [];
    expect(new Set(found).size).toBe(MANY);
    expect(many.lines / few.lines).toBeGreaterThan(9);
    expect(many.memory / few.memory).toBeLessThan(1.6);
  },
  120_000,
);
