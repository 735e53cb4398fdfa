import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CompactRange } from '../../src/tlog/merkle.js';
import { entryBundle, TILE_HEIGHT, TILE_WIDTH, tilePath } from '../../src/tlog/tile.js';
import { newOrg, type Org } from '../support/api.js';
import { checkpointOf, checkpointOfSize, provenExport, SEALED_OFTEN, vkeyOfLog } from '../support/proofs.js';
import { startService, type TestService } from '../support/service.js';
import { SampleHistory } from '../support/tlog-export.js';
import { withTool } from '../support/tools.js';
import { Programs } from './programs.js';

let programs: Programs;

withTool('go', 'version')("tessera's fsck", () => {
  beforeAll(() => {
    programs = new Programs('fsck', 'github.com/transparency-dev/tessera/cmd/fsck');
  });

  afterAll(() => programs?.remove());

  test.each([1, 255, 256, 257, 70_000])('verifies the files of a log of %i leaves', async (size) => {
    const history = await historyOf(size);
    expect(await fsck(`${pathToFileURL(written(history))}/`, history.vkey)).toContain(`log with size ${size} `);
  });

  test('finds a changed entry, a changed tile and a checkpoint of another log', async () => {
    const history = await historyOf(600);
    for (const file of ['tile/entries/001', 'tile/0/000', 'tile/1/000.p/2']) {
      const log = written(history);
      const bytes = readFileSync(join(log, file));
      bytes[40] = (bytes[40] ?? 0) ^ 1;
      writeFileSync(join(log, file), bytes);
      expect([file, await fsck(`${pathToFileURL(log)}/`, history.vkey)]).toEqual([file, undefined]);
    }
    expect(await fsck(`${pathToFileURL(written(history))}/`, history.serviceVkey)).toBeUndefined();
  });

  describe('on a service', () => {
    let service: TestService;
    let org: Org;

    beforeAll(async () => {
      service = await startService({ env: SEALED_OFTEN });
      org = await newOrg(service);
      for (let bulk = 0; bulk < 4; bulk += 1) {
        await org.bulk(Array.from({ length: 200 }, (_, index) => ({ resource: { name: `r${bulk}-${index}` } })));
      }
      await checkpointOfSize(org, 800);
    });

    afterAll(() => service?.remove());

    test("verifies the log of an organization and the service's, over HTTP", async () => {
      const { size } = await checkpointOf(org);
      const { url, key } = org.api;
      expect(size).toBeGreaterThanOrEqual(800);
      expect(await fsck(`${url}${org.audit}/-tlog/`, await vkeyOfLog(org), key)).toContain('log with size');
      const { text: keys } = await org.api.get<unknown>('/audit/-tlog/vkey');
      expect(await fsck(`${url}/audit/-tlog/`, keys.split(/[ \n]/)[0] ?? '', key)).toContain('log with size');
    });

    test("verifies an export with Go's sumdb", async () => {
      const go = new Programs('.', './verify');
      const earlier = await checkpointOf(org);
      await org.publish({ resource: { name: 'later' } });
      await checkpointOfSize(org, earlier.size + 1);
      const { events, proof } = await provenExport(org);
      const { text: keys } = await org.api.get<unknown>('/audit/-tlog/vkey');
      const files = { events, proof, earlier: earlier.note };
      for (const [name, bytes] of Object.entries(files)) writeFileSync(join(go.folder, name), bytes);
      const [at, service] = [(name: string) => join(go.folder, name), keys.split(/[ \n]/)[0] ?? ''];
      const options = ['-vkey', await vkeyOfLog(org), '-service-vkey', service, '-pinned', at('earlier')];
      expect(await go.run('verify', '', ...options, at('events'), at('proof'))).toMatchObject({ code: 0 });
      writeFileSync(at('events'), events.toString('latin1').replace('later', 'older'), 'latin1');
      expect(await go.run('verify', '', ...options, at('events'), at('proof'))).toMatchObject({ code: 1 });
      go.remove();
    });
  });
});

async function historyOf(size: number): Promise<SampleHistory> {
  const history = new SampleHistory();
  history.publish(size);
  await history.cut();
  return history;
}

/** Of what it printed the line that says it found nothing; undefined otherwise. Its exit code is 0 either way. */
async function fsck(url: string, vkey: string, token?: string): Promise<string | undefined> {
  const key = join(programs.folder, 'vkey');
  writeFileSync(key, vkey);
  // With fewer workers it does not end after a finding.
  const args = ['-ui=false', '-N', '32', '-storage_url', url, '-public_key', key];
  const { out } = await programs.run('fsck', '', ...args, ...(token ? ['-bearer_token', token] : []));
  return out.split('\n').find((line) => line.includes("Successfully fsck'd log with size"));
}

/** The log as static files of C2SP tlog-tiles, in a new folder. */
function written(history: SampleHistory): string {
  const folder = mkdtempSync(join(programs.folder, 'log-'));
  const put = (file: string, bytes: Buffer | string) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), bytes);
  };
  put('checkpoint', history.notes.at(-1) ?? '');
  const entries = history.leaves.map(({ entry }) => entry);
  for (const [index, part] of partsOf(entries)) {
    put(tilePath({ level: 'entries', index, width: part.length }), entryBundle(part));
  }
  const levels: Buffer[][] = [];
  const range = new CompactRange();
  for (const { hash } of history.leaves) {
    range.append(hash, (level, _, node) => {
      if (level % TILE_HEIGHT !== 0) return;
      levels[level / TILE_HEIGHT] ??= [];
      levels[level / TILE_HEIGHT]?.push(node);
    });
  }
  for (const [level, hashes] of levels.entries()) {
    for (const [index, part] of partsOf(hashes))
      put(tilePath({ level, index, width: part.length }), Buffer.concat(part));
  }
  return folder;
}

/** By index, up to 256 each. */
function partsOf(all: readonly Buffer[]): [index: number, part: Buffer[]][] {
  const count = Math.ceil(all.length / TILE_WIDTH);
  return Array.from({ length: count }, (_, index) => [index, all.slice(index * TILE_WIDTH, (index + 1) * TILE_WIDTH)]);
}
