import { existsSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { FULL } from '../hardening/scale.js';
import { Org } from '../support/api.js';
import { Seed } from '../support/seed.js';
import { startService, type TestService } from '../support/service.js';
import { svc, temporaryFolder } from './support/svc.js';

const [FEW, MANY] = [2_000, FULL ? 20_000 : 10_000];

/** Linux tells the most memory that a program had; what a process reports of itself counts what it was forked from. */
const onLinux = existsSync('/proc/self/status') ? it : it.skip;

/** A heap with room to spare lets garbage lie about, and so hides what is held: this one has no room for all users. */
const NARROW = '--max-old-space-size=40 --max-semi-space-size=2';

/** Large enough that all users together are many times what one page takes. */
const NOTE = 'x'.repeat(1_000);
const TAGS = Object.fromEntries(Array.from({ length: 4 }, (_, n) => [`note-${n}`, NOTE]));

let service: TestService;
let org: Org;

beforeAll(async () => {
  const seed = new Seed();
  const key = seed.org('acme');
  for (let n = 0; n < MANY; n++) seed.user('acme', `user-${n}@example.com`, { tags: TAGS });
  service = await startService({ dataDir: await seed.write() });
  org = new Org(service.url, 'acme', key);
}, 240_000);

afterAll(() => service.remove());

/** What was written, and the most memory that the process had at once, in MiB. */
async function run(...args: string[]): Promise<{ text: string; memory: number }> {
  const folder = temporaryFolder();
  const [probe, peak] = [join(folder, 'probe.mjs'), join(folder, 'peak')];
  writeFileSync(
    probe,
    `import { readFileSync, writeFileSync } from 'node:fs';
    process.on('exit', () => {
      const [, peak] = /VmHWM:\\s+(\\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'));
      writeFileSync(${JSON.stringify(peak)}, peak);
    });`,
  );
  const env = {
    ...{ SVC_ENDPOINT: service.url, SVC_ORG: org.name, SVC_TOKEN: org.key },
    NODE_OPTIONS: `${NARROW} --import=${pathToFileURL(probe)}`,
  };
  const { code, stdout, stderr } = await svc(args, { env });
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^(\d+ shown, more exist \(--max 0 for all\)\n)?$/)]);
  return { text: stdout, memory: Number(await readFile(peak, 'utf8')) / 1024 };
}

const usersIn = (text: string): number => new Set(text.match(/user-\d+@example\.com/g)).size;

onLinux.each(['names', 'text', 'json', 'yaml-slim', 'tf'])(
  `${MANY} users, -o %s, take the memory of ${FEW}`,
  async (format) => {
    const few = await run('user', 'get', '--max', String(FEW), '-o', format);
    const many = await run('user', 'get', '--max', '0', '-o', format);
    expect([usersIn(few.text), usersIn(many.text)]).toEqual([FEW, MANY]);
    expect(many.memory / few.memory).toBeLessThan(1.3);
  },
);
