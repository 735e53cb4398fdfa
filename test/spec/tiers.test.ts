import { existsSync } from 'node:fs';
import { SLOW, tierOf } from '../support/tiers.js';

it.each(SLOW)('test/%s, which the quick run leaves out, exists', (name) => {
  expect(existsSync(`test/${name}`)).toBe(true);
});

it.each<[string, string, NodeJS.ProcessEnv]>([
  ['quick', '', {}],
  ['quick', '--json --maxWorkers=3 --maxWorkers 3', {}],
  ['named', 'test/http/groups', {}],
  ['named', 'groups', {}],
  ['named', '-t x', {}],
  ['named', '--selectProjects cluster', {}],
  ['named', '--json --testPathPatterns=groups', {}],
  ['named', '', { REQUIRE_CONTAINERS: '1' }],
  ['named', '', { TEST_KAFKA_BROKERS: '127.0.0.1:9092' }],
])('runs the tier %s for `npm test -- %s` with %j', (tier, args, env) => {
  expect(tierOf(args.split(' ').filter(Boolean), env)).toBe(tier);
});
