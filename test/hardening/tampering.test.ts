import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VerificationFailed } from '../../src/tlog/failure.js';
import { newOrg, type Org } from '../support/api.js';
import {
  checkpointed,
  checkpointOfSize,
  type Proven,
  provenExport,
  SEALED_OFTEN,
  verifyProven,
  vkeyOfLog,
} from '../support/proofs.js';
import { type Random, randomFor } from '../support/random.js';
import { startService, type TestService } from '../support/service.js';
import { FULL, scaled, Tally, tell } from './scale.js';
import { FILE_TAMPERINGS } from './tampering/files.js';
import { resigned } from './tampering/resigned.js';
import { LOG_TAMPERINGS, MODEL_TAMPERINGS } from './tampering/stores.js';

/**
 * Whoever has an export, its proof and one earlier checkpoint notices every change that anybody makes to the history: to the files,
 * to the log and the read model with their checksums repaired, or to all of it, signed again with the service's own key.
 */
const EVENTS = 120;
const ROUNDS = Math.ceil(scaled(160, 1000) / 16);

let service: TestService;
let org: Org;
let vkey: string;
/** An earlier checkpoint, which an auditor kept. */
let pinned: { readonly note: string; readonly size: number };
let whole: Proven;
let filtered: Proven;

beforeAll(async () => {
  service = await startService({ env: SEALED_OFTEN });
  org = await newOrg(service);
  const publish = (from: number) =>
    org.bulk(
      Array.from({ length: EVENTS / 2 }, (_, at) => ({
        resource: { name: `r${(from + at) % 5}`, id: `n${from + at}` },
      })),
    );
  await publish(0);
  pinned = await checkpointOfSize(org, EVENTS / 2);
  await publish(EVENTS / 2);
  await checkpointOfSize(org, EVENTS + 7);
  vkey = await vkeyOfLog(org);
  const pin = { pinned: String(pinned.size) };
  whole = await provenExport(org, pin);
  filtered = await provenExport(org, { ...pin, resourceName: 'r2' });
  await service.stop();
});

afterAll(() => service?.remove());

const demands = () => ({ pinned: pinned.note });

/** What was found, or undefined. */
async function foundIn(proven: Proven): Promise<string | undefined> {
  try {
    await verifyProven(proven, vkey, demands());
    return undefined;
  } catch (error) {
    if (error instanceof VerificationFailed) return error.reason;
    throw error;
  }
}

/** Tries a kind of tampering `ROUNDS` times; those that nobody noticed, worded. */
async function tried(
  kind: string,
  attempt: (random: Random, round: number) => Promise<string | undefined>,
): Promise<string[]> {
  const found = new Tally();
  const missed: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const reason = await attempt(randomFor(`${kind} ${round}`), round);
    if (reason === undefined) missed.push(`${kind}, round ${round}`);
    else found.add(reason);
  }
  tell(`${kind}: ${found.total} of ${ROUNDS} found (${found})`);
  return missed;
}

test('the untouched exports verify', async () => {
  expect([await foundIn(whole), await foundIn(filtered)]).toEqual([undefined, undefined]);
});

test.each(FILE_TAMPERINGS)('$kind in the files is found', async ({ kind, isOfClosed = false, tamper }) => {
  const missed = await tried(kind, async (random, round) =>
    foundIn(tamper(isOfClosed || round % 2 === 1 ? filtered : whole, random)),
  );
  expect(missed).toEqual([]);
});

test.each([...LOG_TAMPERINGS, ...MODEL_TAMPERINGS])(
  '$kind in the store, checksums repaired, is found',
  async ({ kind, tamper }) => {
    const missed = await tried(kind, async (random) => {
      const dataDir = mkdtempSync(join(tmpdir(), 'control-tampered-'));
      try {
        cpSync(service.dataDir, dataDir, { recursive: true });
        await tamper({ dataDir, org: org.name, random });
        return await foundAt(dataDir);
      } finally {
        rmSync(dataDir, { recursive: true, force: true });
      }
    });
    expect(missed).toEqual([]);
  },
  600_000,
);

/** What an auditor finds in what a service of this folder exports. */
async function foundAt(dataDir: string): Promise<string | undefined> {
  const altered = await startService({ dataDir, env: SEALED_OFTEN });
  try {
    const at = {
      ...org,
      api: Object.assign(Object.create(Object.getPrototypeOf(org.api)), org.api, { url: altered.url }),
    };
    // What was appended is sealed after the start.
    await checkpointed(at as Org);
    const proven = await provenExport(at as Org, { pinned: String(pinned.size) });
    return await foundIn(proven);
  } finally {
    await altered.stop();
  }
}

test('a history that was rewritten and signed again with the real key is found by its pin, and by nothing else', async () => {
  const key = readFileSync(join(service.dataDir, 'checkpoint.key'), 'utf8');
  const missed = await tried('rewritten history', async (random) => {
    const forged = resigned(whole, key, random, pinned.size);
    await verifyProven(forged, vkey);
    return foundIn(forged);
  });
  expect(missed).toEqual([]);
});

test(
  'no untouched export raises an alarm while publishing goes on',
  async () => {
    const live = await startService({ env: SEALED_OFTEN });
    try {
      const exports = scaled(100, 1000);
      let leaves = 0;
      // An organization that grows all the time would be exported ever more slowly.
      for (let done = 0; done < exports; done += AN_ORG) {
        leaves += await exportedWhilePublishing(await newOrg(live), Math.min(AN_ORG, exports - done));
      }
      tell(`0 alarms in ${exports} untouched exports of ${leaves} leaves in all, made while publishing`);
    } finally {
      await live.remove();
    }
  },
  FULL ? 1_800_000 : 300_000,
);

const AN_ORG = 100;

/** Exports and verifies so many times, while events come in. Resolves with the number of leaves. */
async function exportedWhilePublishing(of: Org, exports: number): Promise<number> {
  const key = await vkeyOfLog(of);
  let isOver = false;
  const publishing = (async () => {
    for (let at = 0; !isOver; at += 1) await of.publish({ resource: { name: `r${at % 5}` } }, { async: at % 2 === 0 });
  })();
  let before = await checkpointOfSize(of, 7);
  let number: number | undefined;
  let leaves = 0;
  for (let round = 0; round < exports; round += 1) {
    const isFiltered = round % 4 === 1;
    const query = { pinned: String(before.size), ...(isFiltered && { resourceName: 'r2' }) };
    const demanded = { pinned: before.note, ...(number !== undefined && { number }) };
    const found = await verifyProven(await provenExport(of, query), key, demanded);
    leaves += found.size;
    number = found.head?.number ?? -1;
    if (!isFiltered) expect(found.closed).toBe(0);
    if (round % 10 === 0) before = await checkpointOfSize(of, found.size);
  }
  isOver = true;
  await publishing;
  return leaves;
}
