import { fileURLToPath } from 'node:url';
import { OTLPLogExporter as JsonExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPLogExporter as ProtobufExporter } from '@opentelemetry/exporter-logs-otlp-proto';
import { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider, type LogRecordExporter } from '@opentelemetry/sdk-logs';
import { type Event, newOrg, type Org } from '../support/api.js';
import { demoEvents } from '../support/demo.js';
import { pythonWith, runPython } from '../support/python.js';
import { startService, type TestService } from '../support/service.js';

interface Audit {
  readonly action: { readonly type: string };
}

const DEMO = demoEvents<Audit>();

const BATCH = 50;
const VERSION = '1.45.2';
const python = pythonWith(`otlp-${VERSION}`, [
  `opentelemetry-sdk==${VERSION}`,
  `opentelemetry-exporter-otlp-proto-http==${VERSION}`,
]);

let service: TestService;
let org: Org;
let url: string;

beforeAll(async () => {
  service = await startService();
});

beforeEach(async () => {
  org = await newOrg(service);
  url = `${service.url}/otlp/org/${org.name}/auditctx/app/v1/logs`;
});

afterAll(() => service.remove());

interface Recorded extends Event {
  readonly resource: Event['resource'] & {
    readonly data: { readonly body: unknown; readonly attributes: Readonly<Record<string, number>> };
  };
}

/** Every demo event is read back under the number that it was sent with, as it was sent. */
async function expectAll(): Promise<void> {
  const { items } = (await org.list({ contextName: 'app', pageSize: '1000' })).body;
  const byNumber = new Map(
    (items as readonly Recorded[]).map((event) => [event.resource.data.attributes['demo.number'], event]),
  );
  expect([items.length, byNumber.size]).toEqual([DEMO.length, DEMO.length]);
  for (const [number, event] of DEMO.entries()) {
    const { action, resource } = byNumber.get(number) as Recorded;
    expect([action?.type, resource.data.body]).toEqual([event.action.type, event]);
  }
}

test.each([
  ['in JSON', JsonExporter, CompressionAlgorithm.NONE],
  ['in JSON, packed', JsonExporter, CompressionAlgorithm.GZIP],
  ['in protobuf', ProtobufExporter, CompressionAlgorithm.NONE],
  ['in protobuf, packed', ProtobufExporter, CompressionAlgorithm.GZIP],
])('the exporter of npm publishes the demo events %s', async (_what, Exporter, compression) => {
  const headers = { authorization: `Bearer ${org.key}` };
  const exporter: LogRecordExporter = new Exporter({ url, headers, compression });
  const outcomes: unknown[] = [];
  const send = exporter.export.bind(exporter);
  exporter.export = (records, done) =>
    send(records, (outcome) => {
      outcomes.push(outcome);
      done(outcome);
    });
  const provider = new LoggerProvider({
    resource: resourceFromAttributes({ 'service.name': 'node' }),
    processors: [new BatchLogRecordProcessor({ exporter, maxExportBatchSize: BATCH })],
  });
  const logger = provider.getLogger('demo');
  for (const [number, event] of DEMO.entries()) {
    const body = event as unknown as Record<string, string>;
    logger.emit({ eventName: event.action.type, body, attributes: { 'demo.number': number } });
  }
  await provider.forceFlush();
  await provider.shutdown();
  expect(outcomes).toEqual(Array.from({ length: Math.ceil(DEMO.length / BATCH) }, () => ({ code: 0 })));
  await expectAll();
});

(python ? test : test.skip)('the exporter of PyPI publishes the demo events in protobuf, packed', async () => {
  const program = fileURLToPath(new URL('python/publish_otlp.py', import.meta.url));
  const input = DEMO.map((event) => JSON.stringify(event)).join('\n');
  const { out, err } = await runPython(python ?? '', [program, url, org.key], input);
  expect([err, JSON.parse(out || '{}')]).toEqual(['', { flushed: true }]);
  await expectAll();
});
