import type { FastifyReply, FastifyRequest } from 'fastify';
import { ControlError } from '../../src/contract/errors.js';
import { ErrorFilter } from '../../src/http/errors/filter.js';
import { Metrics } from '../../src/platform/metrics.js';

/** The codes of the errors that the service logs when it sends these. */
function loggedOf(errors: readonly Error[]): unknown[] {
  const logged: unknown[] = [];
  const log = { error: ({ code }: { code: string }) => logged.push(code) };
  const request = { id: 'one', log, missing: null } as unknown as FastifyRequest;
  const reply = { sent: true } as unknown as FastifyReply;
  const filter = new ErrorFilter(new Metrics());
  for (const error of errors) filter.send(error, request, reply);
  return logged;
}

test('a failed request is logged, but not each probe of a process that is not ready', () => {
  const errors = [
    new ControlError('not_ready', 'the projection of audit is catching up with the log'),
    new ControlError('log_unavailable', 'the log cannot be written'),
    new Error('a fault of the program'),
    new ControlError('not_found', 'no such event'),
  ];
  expect(loggedOf(errors)).toEqual(['log_unavailable', 'internal']);
});
