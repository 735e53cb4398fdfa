import { execFileSync } from 'node:child_process';
import { CloudEvent } from 'cloudevents';
import { cefLine } from '../../src/cli/output/formats/cef.js';
import { cloudEvent } from '../../src/cli/output/formats/cloudevents.js';
import { CSV_HEADER, csvRecord } from '../../src/cli/output/formats/csv.js';
import { ocsfEvent } from '../../src/cli/output/formats/ocsf.js';
import { demoEvents } from '../support/demo.js';
import fc from '../support/fast-check.js';
import { pythonWith } from '../support/python.js';

const RECORDED = {
  id: '01890a5d-ac96-774b-bcce-b302099a8057',
  eventTime: '2026-03-01T08:00:00.000Z',
  postedTime: '2026-03-01T08:00:01.000Z',
  receivedTime: '2026-03-01T08:00:01.500Z',
  requestId: 'req-1',
  context: { org: 'acme', name: 'shop', publisher: { link: '/org/acme/serviceaccount/ci', keyId: 'k' } },
};

const DEMO = demoEvents<{ context?: object }>().map((event) => ({
  ...RECORDED,
  ...event,
  context: { ...event.context, ...RECORDED.context },
}));

/** As recorded, but for these members. */
const recorded = (members: object): string => JSON.stringify({ ...RECORDED, resource: { name: 'cart' }, ...members });

const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom('=', '+', '-', '@', "'", '"', ',', ';', '|', '\\', '\n', '\r', '\t', ' ', 'a', '＝'),
  }),
);

/** The fields of a text of RFC 4180 in which every field is quoted. */
function readCsv(text: string): string[][] {
  return text
    .split(/"\r\n/)
    .slice(0, -1)
    .map((record) =>
      [...`${record}"`.matchAll(/"((?:[^"]|"")*)"(?:,|$)/g)].map(([, field = '']) => field.replaceAll('""', '"')),
    );
}

describe('csv', () => {
  it('has the same columns in the header and in every record', () => {
    const [header = [], ...records] = readCsv(
      CSV_HEADER + DEMO.map((event) => csvRecord(JSON.stringify(event))).join(''),
    );
    expect(header.slice(0, 5)).toEqual(['id', 'eventTime', 'receivedTime', 'context', 'action']);
    expect(records).toHaveLength(DEMO.length);
    expect(records.filter(({ length }) => length !== header.length)).toEqual([]);
  });

  it('gives no spreadsheet a formula, and every text back exactly', () => {
    fc.assert(
      fc.property(hostile, (name) => {
        const record = csvRecord(recorded({ resource: { name } }));
        expect(record.endsWith('"\r\n')).toBe(true);
        const field = /^(?:"(?:[^"]|"")*",){8}"((?:[^"]|"")*)"/.exec(record)?.[1]?.replaceAll('""', '"') ?? '';
        expect(field).not.toMatch(/^[\s\p{Cf}]*[=+\-@\uff1d\uff0b\uff0d\uff20]/u);
        expect(field).not.toMatch(/^[\t\r\n]/);
        expect(field.replace(/^'/, '')).toBe(name);
      }),
      { numRuns: 500 },
    );
  });
});

describe('cef', () => {
  it('escapes as ArcSight says: pipes in the header, equals signs and line ends in values', () => {
    const event = recorded({
      action: { type: 'a|b\\c=d\ne' },
      result: { status: 'DENIED', message: 'x=1|2\\3\r\n4' },
      subject: { name: 'ann' },
    });
    expect(cefLine(event)).toBe(
      'CEF:0|Control Service|audit|1|a\\|b\\\\c=d e|a\\|b\\\\c=d e|7|externalId=01890a5d-ac96-774b-bcce-b302099a8057 rt=1772352000000 ' +
        'act=a|b\\\\c\\=d\\ne outcome=DENIED msg=x\\=1|2\\\\3\\r\\n4 suser=ann cat=shop ' +
        'cs2=cart cs2Label=Resource Name cs4=/org/acme/serviceaccount/ci cs4Label=Publisher cs6=req-1 cs6Label=Request ID',
    );
  });

  it('is one line, from which a parser reads every text back', () => {
    fc.assert(
      fc.property(hostile, hostile, (type, message) => {
        const line = cefLine(recorded({ action: { type }, result: { status: 'OK', message: `m${message}` } }));
        expect(line).not.toMatch(/[\r\n]/);
        const parts = line.split(/(?<=(?:^|[^\\])(?:\\\\)*)\|/);
        expect(parts.length).toBeGreaterThanOrEqual(8);
        const extension = parts.slice(7).join('|');
        const found = / msg=(.*?)(?= [A-Za-z0-9]+=(?<!\\=))/s.exec(extension)?.[1] ?? '';
        const read = found.replace(/\\(.)/gs, (_, one) => (one === 'n' ? '\n' : one === 'r' ? '\r' : one));
        expect(read).toBe(`m${message}`);
      }),
      { numRuns: 500 },
    );
  });
});

describe('cloudevents', () => {
  it('is what the SDK takes, with the recorded event for its data', () => {
    for (const event of DEMO) {
      const raw = JSON.stringify(event);
      const sent = JSON.parse(cloudEvent(raw)) as ConstructorParameters<typeof CloudEvent>[0];
      const { id, source, data } = new CloudEvent(sent, true);
      expect({ id, source, data }).toEqual({ id: event.id, source: '/audit/org/acme/auditctx/shop', data: event });
    }
  });

  it('keeps numbers as they were recorded', () => {
    const raw = recorded({}).replace('"cart"', '"cart","data":{"total":12345678901234567890.50}');
    for (const write of [cloudEvent, ocsfEvent]) expect(write(raw)).toContain('"total":12345678901234567890.50');
  });

  it('takes any text for an action', () => {
    fc.assert(
      fc.property(hostile, (type) => {
        expect(() => new CloudEvent(JSON.parse(cloudEvent(recorded({ action: { type } }))), true)).not.toThrow();
      }),
    );
  });
});

describe('ocsf', () => {
  it('says success, failure, or the status as it is', () => {
    const statusOf = (status?: string) => {
      const { status_id, status: said, status_code } = JSON.parse(ocsfEvent(recorded({ result: { status } })));
      return [status_id, said, status_code];
    };
    expect([statusOf('ok'), statusOf('DENIED'), statusOf('later'), statusOf()]).toEqual([
      [1, 'Success', 'ok'],
      [2, 'Failure', 'DENIED'],
      [99, 'later', undefined],
      [0, 'Unknown', undefined],
    ]);
  });

  it('keeps in unmapped what it has no attribute for', () => {
    const { unmapped } = JSON.parse(
      ocsfEvent(
        recorded({ subject: { email: 'a@b', claims: { sub: 1 } }, action: { type: 'edit', data: { why: 'x' } } }),
      ),
    );
    expect(unmapped).toEqual({
      subject: { claims: { sub: 1 } },
      action: { data: { why: 'x' } },
      context: { publisher: RECORDED.context.publisher },
      postedTime: RECORDED.postedTime,
    });
  });

  const python = pythonWith('ocsf-0.10.0', ['py-ocsf-models==0.10.0']);
  (python ? it : it.skip)('is an event of py-ocsf-models, with its api, resources, user and metadata', () => {
    const lines = [...DEMO.map((event) => JSON.stringify(event)), recorded({}), recorded({ context: {} })].map(
      ocsfEvent,
    );
    const counted = execFileSync(python ?? '', ['-c', OCSF_CHECK], { input: lines.join('\n'), encoding: 'utf8' });
    expect(counted.trim()).toBe(String(lines.length));
  });
});

/** The package has no class for API Activity: its base event and objects are put together as the schema says. */
const OCSF_CHECK = `
import json, sys
from py_ocsf_models import OCSF_VERSION
from py_ocsf_models.events.base_event import BaseEvent
from py_ocsf_models.objects.api import API
from py_ocsf_models.objects.resource_details import ResourceDetails
from py_ocsf_models.objects.user import User
count = 0
for line in sys.stdin:
    event = json.loads(line)
    base = BaseEvent.model_validate(event)
    assert base.metadata.version == OCSF_VERSION, base.metadata.version
    API.model_validate(event['api'])
    for resource in event['resources']: ResourceDetails.model_validate(resource)
    actor = event['actor']
    if 'user' in actor: User.model_validate(actor['user'])
    else: assert actor['invoked_by']
    assert event['src_endpoint'].get('ip') or event['src_endpoint'].get('name')
    assert event['class_uid'] == 6003 and event['category_uid'] == 6
    assert event['type_uid'] == 600300 + event['activity_id'] and event['activity_id'] in (1, 2, 3, 4, 99)
    assert isinstance(event['time'], int) and base.severity_id.value in (1, 3)
    count += 1
print(count)
`;
