import { type Attributes, ProxyTracerProvider, SpanStatusCode, trace } from '@opentelemetry/api';

/** Spans go wherever the process's OpenTelemetry SDK sends them. */
const tracer = trace.getTracer('control-service');

/** OpenTelemetry's provider when no SDK is registered. */
const NO_SDK = new ProxyTracerProvider().getDelegate();

/** Without an SDK, creating spans costs a few per cent of a publish and records nothing. */
function isTraced(): boolean {
  const provider = trace.getTracerProvider();
  return !(provider instanceof ProxyTracerProvider && provider.getDelegate() === NO_SDK);
}

/** Runs the work in a span of this name. Attributes are counts and names of this program's own, never a caller's text. */
export function inSpan<Result>(name: string, attributes: Attributes, work: () => Promise<Result>): Promise<Result> {
  if (!isTraced()) return work();
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
