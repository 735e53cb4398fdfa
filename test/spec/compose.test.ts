import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const read = (file: string) => readFileSync(resolve('infra', file), 'utf8');

/** The numbers of seconds that follow the name in the text. */
const seconds = (text: string, name: string) =>
  [...text.matchAll(new RegExp(`${name}[:=] ?(\\d+)s`, 'g'))].map(([, number]) => Number(number));

test('a container whose store needs two minutes more is not given up', () => {
  const [compose, image] = [read('compose.yml'), read('Dockerfile')];
  const [kafka, elasticsearch] = seconds(compose, 'start_period');
  expect(kafka).toBeGreaterThan(120);
  expect(elasticsearch).toBeGreaterThan(120);
  // The service waits for both of them.
  expect(seconds(image, 'start-period')).toEqual([expect.any(Number)]);
  expect(seconds(image, 'start-period')[0]).toBeGreaterThan(Math.max(kafka ?? 0, elasticsearch ?? 0));
});

test.each(['compose.yml', 'compose.production.yml'])('%s leaves a process the time to drain and to stop', (file) => {
  const text = read(file);
  const service = text.slice(text.indexOf('x-service: &service'));
  expect(seconds(service, 'stop_grace_period')[0]).toBeGreaterThan(5 + 8);
});
