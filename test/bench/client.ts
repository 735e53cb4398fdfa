import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { realEvent } from './events.ts';
import { type Options, Rounds, say } from './figures.ts';
import { built, createOrg, startService, stop } from './server.ts';

export const CLIENT_FIGURES = ['client-over-bulk'];

/** Events of one measurement, for each second that it may take. */
const EVENTS_A_SECOND = 4_000;
const RESOURCES = 1_000;
/** As in the figures of bulk; the client sends fewer at once. */
const BULK = 500;
/** Callers of `record` at a time. */
const AT_ONCE = 100;
const ORG = 'bench';
const CONTEXT = 'app';

/** `record` until all is delivered, and bulk requests one after the other, in turns, from this process to one service. */
export async function measureClient({ rounds: count, seconds }: Options): Promise<Rounds> {
  await using started = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'control-bench-'));
  started.defer(() => rmSync(folder, { recursive: true }));
  const { AuditClient } = await built<typeof import('../../src/client/index.js')>('client/index.js');
  const service = started.adopt(await startService(join(folder, 'service')), stop);
  const key = await createOrg(service.url, ORG);
  const spool = { folder: join(folder, 'spool') };
  const client = new AuditClient({ endpoint: service.url, key, org: ORG, context: CONTEXT, spool });
  started.adopt(client, (open) => open.close());
  const events = EVENTS_A_SECOND * seconds;

  const record = async () => {
    let next = 0;
    const caller = async () => {
      while (next < events) await client.record(realEvent(next++, RESOURCES));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, caller));
    await client.flush();
  };
  const bulk = async () => {
    const url = `${service.url}/audit/org/${ORG}/auditctx/${CONTEXT}/-bulk?async=true`;
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/x-ndjson' };
    for (let at = 0; at < events; at += BULK) {
      const items = Array.from({ length: Math.min(BULK, events - at) }, (_, index) => {
        return JSON.stringify({ idempotencyKey: crypto.randomUUID(), event: realEvent(at + index, RESOURCES) });
      });
      const response = await fetch(url, { method: 'POST', headers, body: items.join('\n') });
      const { failed } = (await response.json()) as { failed?: number };
      if (failed !== 0) throw new Error(`the bulk answered ${response.status}, with ${failed} refused`);
    }
  };

  const rounds = new Rounds();
  for (let round = 0; round <= count; round += 1) {
    const [recorded, sent] = [await timed(record), await timed(bulk)];
    const rate = (ms: number) => Math.round((1000 * events) / ms);
    say(`${round === 0 ? 'warm-up' : `round ${round}`}: client ${rate(recorded)}/s, bulk ${rate(sent)}/s`);
    if (round > 0) rounds.add([['client-over-bulk', sent / recorded]]);
  }
  return rounds;
}

async function timed(work: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}
