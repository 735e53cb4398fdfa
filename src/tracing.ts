import { type Attributes, SpanStatusCode, trace } from '@opentelemetry/api';

/** Spans go wherever the process's OpenTelemetry SDK sends them; without one they cost next to nothing. */
const tracer = trace.getTracer('control-service');

/** Runs the work in a span of this name. Attributes are counts and names of this program's own, never a caller's text. */
export function inSpan<Result>(name: string, attributes: Attributes, work: () => Promise<Result>): Promise<Result> {
  return tracer.startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await work();
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
}
