import { textOf } from '../values.js';
import { jsonObject, type Recorded } from './recorded.js';

/** In front of the type of the action. */
const TYPE = 'dev.svc.control.audit';

/**
 * One event as a CloudEvent 1.0 in JSON, with the event as it was recorded for its data. `source` and `id` together are unique, as
 * CloudEvents require; `source` is the address of the audit context. `-ingest` records its data as an event.
 */
export function cloudEvent(raw: string): string {
  const { id, eventTime, context, action, resource } = JSON.parse(raw) as Recorded;
  const [org, name] = [context?.org, context?.name].map((text) => encodeURIComponent(textOf(text)));
  const type = textOf(action?.type);
  const attributes = {
    specversion: '1.0',
    id: textOf(id),
    source: `/audit/org/${org}/auditctx/${name}`,
    type: attribute(type === '' ? TYPE : `${TYPE}.${type}`),
    subject: attribute(textOf(resource?.name) || textOf(resource?.id)),
    time: eventTime,
    datacontenttype: 'application/json',
  };
  return jsonObject(attributes, { data: raw });
}

/** An attribute may not have control characters and lone surrogates (CloudEvents 1.0.2, section 3.2.3, String). */
const attribute = (text: string): string =>
  text.toWellFormed().replace(/[\p{Cc}\p{Noncharacter_Code_Point}]/gu, '\ufffd');
