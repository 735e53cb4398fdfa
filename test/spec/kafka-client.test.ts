import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js';
import { addressOf } from '../../src/event-log/kafka/client.js';
import { StoreUnusable } from '../../src/platform/store-unusable.js';

describe('the client of Kafka', () => {
  test('rests on inner parts of kafkajs 2.2.4: look at them again before another version', () => {
    const file = createRequire(import.meta.url).resolve('kafkajs/package.json');

    expect(JSON.parse(readFileSync(file, 'utf8')).version).toBe('2.2.4');
  });

  test('sets no timer for requests that wait when none does', () => {
    const queue = Object.assign(Object.create(RequestQueue.prototype), { pending: [], throttledUntil: -1 });

    queue.scheduleCheckPendingRequests();
    expect(queue.throttleCheckTimeoutId).toBeUndefined();

    queue.pending.push('a request');
    queue.scheduleCheckPendingRequests();
    expect(queue.throttleCheckTimeoutId).toBeDefined();
    clearTimeout(queue.throttleCheckTimeoutId);
  });

  test.each([
    ['kafka-1.example:9092', { host: 'kafka-1.example', port: 9092 }],
    ['10.0.0.1:1', { host: '10.0.0.1', port: 1 }],
    ['[2001:db8::1]:9092', { host: '2001:db8::1', port: 9092 }],
  ])('takes the address %s', (text, address) => {
    expect(addressOf(text)).toEqual(address);
  });

  test.each(['', 'kafka', 'kafka:', ':9092', 'http://kafka:9092', 'kafka:90921'])(
    'refuses the address "%s"',
    (text) => {
      expect(() => addressOf(text)).toThrow(StoreUnusable);
    },
  );
});
