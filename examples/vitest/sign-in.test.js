import { AuditClient } from '@control-service/client';
import { startControlService } from '@control-service/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signIn } from './sign-in.js';

let service;

beforeAll(async () => {
  service = await startControlService();
});
afterAll(() => service?.stop());

test.each([
  ['correct horse battery staple', 'OK'],
  ['12345', 'DENIED'],
])('records who signs in with %s: %s', async (password, status) => {
  // An organization a test: it has nothing but what this test does.
  const audit = new AuditClient({ ...(await service.createOrg()), context: 'sessions' });
  const { id } = await signIn(audit, 'ann@example.com', password);
  const events = await listed(audit);
  expect(events.map((event) => [event.id, event.subject.email, event.result.status])).toEqual([
    [id, 'ann@example.com', status],
  ]);
  await audit.close();
});

/** A publish returns when the event is durable; lists have it a moment later. */
async function listed(audit) {
  for (;;) {
    const events = await Array.fromAsync(audit.list());
    if (events.length > 0) return events;
  }
}
