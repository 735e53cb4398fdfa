import { newOrg, type Org } from '../support/api.js';
import { checkpointed, checkpointOf, provenExport, SEALED_OFTEN, verifyProven, vkeyOfLog } from '../support/proofs.js';
import { startService, type TestService } from '../support/service.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let ahead = 0;
const clock = { now: () => Date.now() + ahead };
let service: TestService;
let org: Org;

beforeAll(async () => {
  service = await startService({ clock, env: SEALED_OFTEN });
  org = await newOrg(service);
});
afterAll(() => service?.remove());

const publish = async (name: string) => expect((await org.publish({ resource: { name } })).status).toBe(201);

test('an event after the clock was set back is not taken for one that was inserted later', async () => {
  await publish('before');
  const vkey = await vkeyOfLog(org);
  const cuts: { size: number; at: number; complete: number }[] = [];
  const sealed = async () => {
    const { note, size, cut } = await checkpointOf(org);
    if (cut) cuts.push({ size, at: cut.at, complete: cut.complete });
    return { note, size, complete: cut?.complete ?? 0 };
  };
  // Only `control` moves, so the cut is complete up to a time long after the last record of `audit`.
  const now = clock.now();
  ahead = 10 * MINUTE;
  await org.api.send('PUT', `${org.audit}/auditctx/app`, '{"retentionDays":30}', {
    'content-type': 'application/json',
  });
  let pinned = await sealed();
  while (pinned.complete < now + ahead) pinned = await sealed();
  for (const [name, shift] of [
    ['an hour back', -HOUR],
    ['a day back', -24 * HOUR],
    ['right again', 0],
    ['ahead', 2 * HOUR],
    ['right once more', 0],
  ] as const) {
    ahead = shift;
    await publish(name);
    await checkpointed(org);
    const { size } = await sealed();
    const proven = await provenExport(org, { pinned: String(pinned.size) });
    const found = await verifyProven(proven, vkey, { pinned: pinned.note });
    expect([found.closed, found.pinned?.size, found.size >= size]).toEqual([0, pinned.size, true]);
  }
  for (const name of ['size', 'at', 'complete'] as const) {
    const values = cuts.map((cut) => cut[name]);
    expect(values).toEqual([...values].sort((one, other) => one - other));
  }
});
