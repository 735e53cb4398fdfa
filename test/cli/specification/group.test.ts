import { GROUP_CHECKS } from './group-checks.js';
import { readPromises } from './table.js';
import { verify } from './verify.js';

describe('svc group does what the specification says', () => {
  verify('group', readPromises().group, GROUP_CHECKS);
});
