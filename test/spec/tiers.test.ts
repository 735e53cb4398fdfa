import { existsSync } from 'node:fs';
import { SLOW } from '../support/tiers.js';

it.each(SLOW)('test/%s, which the quick run leaves out, exists', (name) => {
  expect(existsSync(`test/${name}`)).toBe(true);
});
