import { createReadStream, readdirSync, readFileSync } from 'node:fs';
import { verifyEvent } from '../../src/tlog/verify-event.js';
import { verifyExport } from '../../src/tlog/verify-export.js';
import { PROOF_FIXTURES, proofFixture } from '../support/tlog-fixture.js';

const read = (name: string) => readFileSync(new URL(name, PROOF_FIXTURES), 'utf8');
const stream = (name: string): AsyncIterable<Buffer> => createReadStream(new URL(name, PROOF_FIXTURES));

test('the formats are those of the published fixtures, byte for byte', async () => {
  const files = await proofFixture();
  expect(readdirSync(PROOF_FIXTURES).sort()).toEqual(Object.keys(files).sort());
  for (const [name, text] of Object.entries(files)) expect([name, read(name)]).toEqual([name, text]);
});

test.each([
  ['acme.ndjson', 100, 0],
  ['closed.ndjson', 53, 47],
])('%s verifies from its files', async (name, events, closed) => {
  const result = await verifyExport({
    events: stream(name),
    proof: stream(`${name}.proof`),
    trust: { policy: read('policy.txt'), number: 2 },
    pinned: read('earlier-30.checkpoint'),
  });
  expect(result).toMatchObject({ events, closed, size: 100, pinned: { size: 30 }, head: { number: 2 } });
  expect(result.notShown.map(({ kind }) => kind)).toEqual(closed ? ['closed', 'age'] : ['age']);
});

test('the event verifies from its files', () => {
  const event = readFileSync(new URL('event.json', PROOF_FIXTURES));
  const trust = { vkeys: [read('org.vkey').trim()], number: 2 };
  const result = verifyEvent({ event, proof: read('event.tlog-proof'), head: read('head.tlog-proof'), trust });
  expect(result).toMatchObject({ leaf: 57, size: 100, head: { number: 2 } });
});
