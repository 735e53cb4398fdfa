import type { Published } from '../../src/commands/acknowledgements.js';
import { ControlError, type ErrorCode } from '../../src/contract/errors.js';
import { requireWhole } from '../../src/http/requests/whole-bulk.js';

const recorded = (id: string): Published => ({ id, state: 'recorded' });
const failed = (code: ErrorCode): Published => ({ error: new ControlError(code, `it is ${code}`, { id: 'x' }) });

function errorOf(published: readonly Published[]): ControlError | undefined {
  try {
    requireWhole(published);
    return undefined;
  } catch (error) {
    return error as ControlError;
  }
}

test('a bulk whose items are all recorded is whole, searchable or not', () => {
  expect(errorOf([recorded('a'), { id: 'b', state: 'searchable' }])).toBeUndefined();
});

test('a bulk that the log may have taken in part is outcome_unknown: a retry completes it', () => {
  const error = errorOf([failed('outcome_unknown'), failed('outcome_unknown')]);
  expect([error?.code, error?.message]).toEqual([
    'outcome_unknown',
    expect.stringContaining('send the same bulk again'),
  ]);
});

test('a bulk that the log refused is log_unavailable', () => {
  expect(errorOf([failed('log_unavailable'), failed('log_unavailable')])?.code).toBe('log_unavailable');
});

test.each<[ErrorCode, string]>([
  ['idempotency_conflict', 'all other items are recorded'],
  ['dead_lettered', 'all events are recorded, but 1 cannot be indexed'],
])('an item that is %s is no item of a 200: it is named', (code, message) => {
  const error = errorOf([recorded('a'), failed(code), recorded('b')]);
  expect(error).toMatchObject({ code, message: expect.stringContaining(message) });
  expect(error?.details).toMatchObject({ fields: [{ pointer: '/1' }] });
});
