import { type Fields, type Position, type StoredDocument, sourceText, type Write } from '../../read-model/document.js';

type Content = Pick<StoredDocument, 'place' | 'fields' | 'source' | 'deleted'> & { readonly hash?: string };

/** What is stored when the write takes effect. */
export function contentOf(write: Write): Content {
  const { place } = write;
  if (write.op === 'delete') return { place, fields: {}, source: '', deleted: true };
  const hash = write.op === 'create' ? write.hash : undefined;
  const { fields } = write;
  return { place, fields, source: sourceText(write), deleted: false, ...(hash !== undefined && { hash }) };
}

/** Whether two documents of one place say the same, byte for byte. Of one that was deleted only that it was counts. */
export function isSameContent(one: Content, other: Content): boolean {
  if (one.deleted !== other.deleted || one.place.time !== other.place.time) return false;
  if (one.deleted) return true;
  return one.source === other.source && one.hash === other.hash && isSameFields(one.fields, other.fields);
}

function isSameFields(one: Fields, other: Fields): boolean {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => one[name] === other[name]);
}

export function isSamePosition(one: Position, other: Position): boolean {
  return isSamePartition(one, other) && one.offset === other.offset && one.ordinal === other.ordinal;
}

export function isSamePartition(one: Position, other: Position): boolean {
  return one.topic === other.topic && one.partition === other.partition;
}
