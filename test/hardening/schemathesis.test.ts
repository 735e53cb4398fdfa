import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { compiledMain, removeCompiled, type ServiceProcess, spawnService } from '../faults/process.js';
import { Api, Org, type OrgBody } from '../support/api.js';
import { PATIENCE } from '../support/patience.js';
import { SEED } from '../support/random.js';
import { FULL, tell } from './scale.js';
import { runSchemathesis, schemathesis } from './schemathesis.js';

const ROOT_KEY = 'root-key-of-the-schemathesis-test-0123456789';
const MINUTES = 60_000 * PATIENCE;
const DOCS = resolve(import.meta.dirname, '../../docs');

/** Before a change is taken, and in a full run, the many cases; a few hundred tell most of it in between. */
const MANY = FULL || process.env.CI === 'true';

const program = schemathesis();
const required = process.env.REQUIRE_SCHEMATHESIS === '1' || process.env.CI === 'true';
if (!program && required) throw new Error('schemathesis is required here, but could not be installed');
if (!program) process.stderr.write('SKIPPED: schemathesis needs python3, pip and a package index\n');

let dataDir: string;
let child: ServiceProcess;
let url: string;
let org: Org;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'control-schemathesis-data-'));
  const main = compiledMain();
  // The build stands beside the documents, and serves them.
  const beside = resolve(main, '../../docs');
  if (!existsSync(beside)) symlinkSync(DOCS, beside);
  child = spawnService(main, dataDir, { CONTROL_ROOT_KEY: ROOT_KEY });
  url = await child.listening;
  const { body } = await new Api(url, ROOT_KEY).post<OrgBody>('/org', { name: 'acme' });
  org = new Org(url, 'acme', body.key);
  await org.bulk(Array.from({ length: 100 }, (_, n) => ({ resource: { id: `${n}`, name: `web/${n % 3}` } })));
});

afterAll(async () => {
  await child?.end('SIGTERM');
  rmSync(dataDir, { recursive: true, force: true });
  removeCompiled();
});

/** Sound and unsound requests made from the document: to each, the service answers what the document says. */
(program ? test : test.skip)(
  'every answer has a status, type, header and body that docs/openapi.json gives for it, and none is a 5xx',
  async () => {
    const { cases, ok, output } = await runSchemathesis(program ?? '', {
      url,
      document: join(DOCS, 'openapi.json'),
      org: org.name,
      key: org.key,
      rootKey: ROOT_KEY,
      examples: MANY ? 25 : 3,
      seed: SEED,
    });
    tell(`schemathesis: ${cases} cases`);
    if (!ok) throw new Error(output);
    expect(cases).toBeGreaterThanOrEqual(MANY ? 5_000 : 500);
  },
  30 * MINUTES,
);

test('the service still takes and shows an event afterwards', async () => {
  const event = await org.published({ resource: { name: 'afterwards' } });
  expect(event.resource).toEqual({ name: 'afterwards' });
});
