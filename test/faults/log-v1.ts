/** What the log of the fixture was made with, and what must still be a repetition of it years later. */

/** Of no service that ever ran. */
export const ROOT_KEY = 'svcroot_of-the-log-v1-fixture-no-secret';

/** Its key was derived from the root key, so a repetition shows it again. */
export const KEYED_ORG = { name: 'acme', idempotencyKey: 'first organization' };

export const KEYED = {
  path: '/audit/org/acme/auditctx/app',
  idempotencyKey: 'order/4711',
  event: '{"resource":{"name":"keyed","data":{"ü":"é","n":12345678901234567890}},"action":{"type":"create"}}',
};

/** The same event to the service: only the order of members and the white space differ. */
export const KEYED_REPEATED =
  '{ "action": {"type":"create"}, "resource": {"data":{"n":12345678901234567890,"ü":"\\u00e9"},"name":"keyed"} }';

/** With the key of `KEYED`. */
export const CONFLICTING =
  '{"resource":{"name":"keyed","data":{"ü":"é","n":12345678901234567891}},"action":{"type":"create"}}';
