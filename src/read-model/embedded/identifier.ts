/** A UUID as this service writes it. */
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

/**
 * An identifier as it is stored: a UUID as 16 bytes, which sort like their text; anything else as it is. SQLite sorts texts
 * before bytes, so of one instant the documents whose identifier is no UUID come first.
 */
export function packed(id: string): string | Uint8Array {
  return UUID.test(id) ? Buffer.from(id.replaceAll('-', ''), 'hex') : id;
}

export function unpacked(stored: unknown): string {
  if (!ArrayBuffer.isView(stored)) return String(stored);
  const hex = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
