import { type Span, type Tracer, trace } from '@opentelemetry/api';
import { inSpan } from '../../src/platform/tracing.js';

/** What an SDK registers, as far as the service uses it. */
function register(): string[] {
  const seen: string[] = [];
  const span = {
    setStatus: ({ code }: { code: number }) => seen.push(`status ${code}`),
    end: () => seen.push('end'),
  } as unknown as Span;
  const tracer = {
    startActiveSpan: (name: string, _options: object, work: (span: Span) => unknown) => {
      seen.push(name);
      return work(span);
    },
  } as unknown as Tracer;
  trace.setGlobalTracerProvider({ getTracer: () => tracer });
  return seen;
}

afterAll(() => trace.disable());

test('without an SDK the work is all there is', async () => {
  expect(await inSpan('publish', {}, async () => 7)).toBe(7);
});

test('an SDK sees each span from its beginning to its end, and which failed', async () => {
  const seen = register();
  expect(await inSpan('publish', {}, async () => 7)).toBe(7);
  await expect(inSpan('append', {}, () => Promise.reject(new Error('down')))).rejects.toThrow('down');
  expect(seen).toEqual(['publish', 'end', 'append', 'status 2', 'end']);
});
