import { AuditClient } from '@control-service/client';
import { ControlServiceContainer } from '@control-service/testing/container';
import { Orders } from './orders.js';

let service;

beforeAll(async () => {
  service = await new ControlServiceContainer(process.env.CONTROL_SERVICE_IMAGE ?? 'control-service').start();
});
afterAll(() => service?.stop());

test('records who cancelled which order', async () => {
  const org = await service.createOrg();
  const orders = new Orders(org);
  const { id } = await orders.cancel('order-4711', 'ann@example.com');
  await orders.close();

  const reader = new AuditClient({ ...org, context: 'orders' });
  const event = await found(reader, id);
  expect(event.resource).toEqual({ id: 'order-4711', type: 'order' });
  expect([event.action.type, event.subject.email]).toEqual(['cancel', 'ann@example.com']);
  await reader.close();
});

test('starts with an organization in which nothing has happened', async () => {
  const org = await service.createOrg();
  const reader = new AuditClient({ ...org, context: 'orders' });
  expect(await Array.fromAsync(reader.list())).toEqual([]);
  await reader.close();
});

/** A publish returns when the event is durable; lists have it a moment later. */
async function found(reader, id) {
  for (;;) {
    for await (const event of reader.list()) if (event.id === id) return event;
  }
}
