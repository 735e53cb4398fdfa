import type { IngestMapping, Preset } from '../../model/ingest.js';

const MESSAGE = ['/message', '/MESSAGE', '/msg', '/log'];
const LEVEL = ['/level', '/severity'];
const TIME = ['/timestamp', '/@timestamp', '/time', '/date'];

/** Files and offsets are in the line if the shipper is told to send them (`docs/shippers.md`). The host may not be. */
const position = (...file: readonly string[]) => [['/host', '/hostname', { value: 'any' }], file, '/offset'];

const PRESETS: Readonly<Record<Preset, (context: string) => IngestMapping>> = {
  /** The JSON of Vector's sources, such as `file`, `journald`, `kubernetes_logs` and `syslog`. */
  vector: (context) => ({
    resource: {
      type: ['/source_type', { value: 'line' }],
      name: ['/file', '/kubernetes/pod_name', '/container_name', '/appname', '/host', { value: context }],
    },
    action: ['/msgid', '/action'],
    result: LEVEL,
    message: MESSAGE,
    time: TIME,
    position: position('/file'),
  }),
  /** The output `http` of Fluent Bit in its formats `json`, `json_lines` and `json_stream`. */
  fluentbit: (context) => ({
    resource: {
      type: { value: 'line' },
      name: ['/file', '/filename', '/path', '/kubernetes/pod_name', '/container_name', '/host', { value: context }],
    },
    action: '/action',
    result: LEVEL,
    message: ['/log', '/MESSAGE', '/message', '/msg'],
    time: ['/date', '/timestamp', '/@timestamp', '/time'],
    position: position('/file', '/filename', '/path'),
  }),
  /** `$(format-json)` of syslog-ng, JSON templates of rsyslog, and lines of syslog. */
  syslog: (context) => ({
    resource: {
      type: { value: 'host' },
      name: ['/HOST', '/hostname', '/host', '/fromhost', '/source', { value: context }],
    },
    action: ['/PROGRAM', '/programname', '/app-name', '/appname', '/program', '/syslogtag', '/tag'],
    result: ['/PRIORITY', '/LEVEL', '/syslogseverity-text', '/severity', '/syslogseverity'],
    message: MESSAGE,
    time: ['/ISODATE', '/timereported', '/timegenerated', ...TIME, '/DATE', '/UNIXTIME'],
    key: ['/UNIQID', '/RCPTID', '/uuid'],
  }),
  /** Records of AWS CloudTrail; a file of them is `{"Records": [...]}`. */
  cloudtrail: () => ({
    resource: {
      type: '/eventSource',
      name: [
        '/resources/0/ARN',
        '/requestParameters/bucketName',
        '/requestParameters/roleName',
        '/requestParameters/userName',
        '/requestParameters/name',
        '/requestParameters/instanceId',
        '/eventSource',
      ],
      id: '/resources/0/ARN',
    },
    subject: {
      name: [
        '/userIdentity/userName',
        '/userIdentity/onBehalfOf/userId',
        '/userIdentity/arn',
        '/userIdentity/sessionContext/sessionIssuer/userName',
        '/userIdentity/principalId',
        '/userIdentity/invokedBy',
        '/userIdentity/type',
      ],
      email: '/userIdentity/userName',
    },
    action: '/eventName',
    result: ['/errorCode', { value: 'success' }],
    message: '/errorMessage',
    time: '/eventTime',
    key: '/eventID',
  }),
  /** Events of `audit.k8s.io/v1`. */
  kubernetes: () => ({
    resource: {
      type: ['/objectRef/resource', { value: 'request' }],
      name: ['/objectRef/name', '/objectRef/namespace', '/objectRef/resource', '/requestURI', '/auditID'],
      id: ['/objectRef/uid', '/requestURI'],
    },
    subject: { name: '/user/username', email: '/user/username' },
    action: '/verb',
    result: '/responseStatus/code',
    message: ['/responseStatus/message', '/responseStatus/reason'],
    time: ['/requestReceivedTimestamp', '/stageTimestamp'],
    position: ['/auditID', '/stage'],
  }),
  /** CloudEvents 1.0 in JSON. */
  cloudevents: () => ({
    resource: { type: '/type', name: ['/subject', '/source'], id: '/source' },
    action: '/type',
    time: '/time',
    position: ['/source', '/id'],
  }),
  /** Any text, a line an event. */
  plain: (context) => ({
    resource: { type: { value: 'line' }, name: { value: context } },
    message: MESSAGE,
    result: LEVEL,
    time: TIME,
  }),
};

export function presetOf(preset: Preset, context: string): IngestMapping {
  return PRESETS[preset](context);
}
