import { type ControlRecord, emptyFold, foldRecord, trackedRead } from '../../src/control/fold.js';
import { imageOf } from '../../src/control/fold-image.js';
import type { ControlEvent } from '../../src/model/control-events.js';

const GROUPS = 100;
const A_DAY = 2_000;
const DAYS = 12;
const AT = '2026-01-01T00:00:00.000Z';

/** Makes the groups, and then edits them in turn. */
function recordAt(fold: ReturnType<typeof emptyFold>, number: number, keyed: boolean): ControlRecord {
  const name = `group-${number % GROUPS}`;
  const resource = {
    id: name,
    created: AT,
    lastModified: AT,
    version: 1,
    org: 'acme',
    name,
    tags: {},
    memberLinks: [],
  };
  const type = number < GROUPS ? 'group-created' : 'group-edited';
  const data = { ...resource, description: `edit ${number}` };
  const events = [
    { type, stream: `group/acme/${name}`, auditId: `audit-${number}`, data },
  ] as unknown as ControlEvent[];
  const by = { name: 'ann', requestId: 'r', remoteIp: '::1' };
  const hash = keyed && { requestHash: 'f'.repeat(64) };
  return { commandId: `c-${number}`, ...hash, at: AT, by, expected: trackedRead(fold).expected(events), events };
}

test.each([
  ['keyed', true],
  ['unkeyed', false],
])('%s edits of the same resources leave no more in the fold than those of a day', (_name, keyed) => {
  const fold = emptyFold();
  const keptAfter: number[] = [];
  for (let number = 0; number < DAYS * A_DAY; number += 1) {
    const time = (number * 24 * 60 * 60 * 1_000) / A_DAY;
    if (foldRecord(fold, recordAt(fold, number, keyed), { offset: number, time }) === 'void') throw new Error('void');
    if ((number + 1) % A_DAY === 0) keptAfter.push(bytesOf(fold));
  }
  const [, , early = 0] = keptAfter;
  expect(Math.max(...keptAfter.slice(3))).toBeLessThan(early * 1.5);
  // A table drops rows only when it is full.
  expect(imageOf(fold).commands.table.numbers.length / 2).toBeLessThan(4 * A_DAY);
});

function bytesOf(fold: ReturnType<typeof emptyFold>): number {
  const { streams, deleted, commands, letters } = imageOf(fold);
  const tables = [deleted, commands.table].map(({ digests, numbers }) => digests.byteLength + numbers.byteLength);
  return JSON.stringify([streams, letters]).length + tables.reduce((sum, bytes) => sum + bytes, 0);
}
