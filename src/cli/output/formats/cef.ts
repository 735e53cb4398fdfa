import { isIP } from 'node:net';
import { textOf } from '../values.js';
import { outcomeOf, publisherOf, type Recorded } from './recorded.js';

/** Severities of CEF: 0 to 3 low, 4 to 6 medium, 7 and 8 high, 9 and 10 very high. */
const SEVERITY = { success: 3, unknown: 4, failure: 7 } as const;

/** Of the header: a backslash in front of backslashes and pipes; it cannot have line ends (Implementing ArcSight CEF, Rev. 26). */
const header = (text: string): string => text.replace(/[\\|]/g, String.raw`\$&`).replace(/[\r\n\u2028\u2029]+/g, ' ');

/** Of the value of an extension: a backslash in front of backslashes and equals signs, and line ends as `\n` and `\r`. */
const value = (text: string): string =>
  text.replace(/[\\=]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`).replaceAll('\r', String.raw`\r`);

/** Of the six strings that senders name themselves: the name, and the value. */
function custom(number: number, label: string, text: unknown): [string, unknown][] {
  const key = `cs${number}`;
  return [
    [key, text],
    [`${key}Label`, textOf(text) === '' ? undefined : label],
  ];
}

/** One event as a line of CEF, version 0. The signature is the type of the action, `device` the service. */
export function cefLine(raw: string): string {
  const event = JSON.parse(raw) as Recorded;
  const { id, eventTime, requestId, context, subject, action, result, resource } = event;
  const type = textOf(action?.type) || 'unknown';
  const name = [type, textOf(resource?.type)].filter((text) => text !== '').join(' ');
  const address = textOf(context?.remoteIp);
  const version = isIP(address);
  const extension: [string, unknown][] = [
    ['externalId', id],
    ['rt', Date.parse(textOf(eventTime)) || undefined],
    ['act', action?.type],
    ['outcome', result?.status],
    ['msg', result?.message],
    ['suser', textOf(subject?.email) || subject?.name],
    ['src', version === 4 ? address : undefined],
    ['shost', version === 0 ? address : undefined],
    ['c6a2', version === 6 ? address : undefined],
    ['c6a2Label', version === 6 ? 'Source IPv6 Address' : undefined],
    ['cat', context?.name],
    ['sproc', context?.eventSource],
    ...custom(1, 'Resource Type', resource?.type),
    ...custom(2, 'Resource Name', resource?.name),
    ...custom(3, 'Resource ID', resource?.id),
    ...custom(4, 'Publisher', publisherOf(event)),
    ...custom(5, 'Location', context?.location),
    ...custom(6, 'Request ID', requestId),
  ];
  const given = extension.map(([key, one]) => [key, textOf(one)] as const).filter(([, text]) => text !== '');
  const fields = ['CEF:0', ...['Control Service', 'audit', '1', type, name].map(header), SEVERITY[outcomeOf(event)]];
  return `${fields.join('|')}|${given.map(([key, text]) => `${key}=${value(text)}`).join(' ')}`;
}
