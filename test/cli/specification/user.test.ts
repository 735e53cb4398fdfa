import { readPromises } from './table.js';
import { USER_CHECKS } from './user-checks.js';
import { verify } from './verify.js';

describe('svc user does what the specification says', () => {
  verify('user', readPromises().user, USER_CHECKS);
});
