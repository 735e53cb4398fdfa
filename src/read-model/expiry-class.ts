import { KINDS, type Kind, type KindName } from './kinds.js';

/**
 * The class of a document, which tells its retention limit; undefined if it never expires. `read` gives the value of a
 * field.
 */
export function expiryClass(name: KindName, read: (field: string) => unknown): string | undefined {
  const { expiresBy }: Kind = KINDS[name];
  if (!expiresBy) return undefined;
  const { field, apart } = expiresBy;
  const value = read(field);
  if (typeof value !== 'string') return undefined;
  return value === apart.value && read(apart.field) === apart.is ? apart.name : value;
}

/** The value that documents of the class have in the field that the classes are made by. */
export function valueOfClass(name: KindName, className: string): string {
  const { expiresBy }: Kind = KINDS[name];
  return expiresBy?.apart.name === className ? expiresBy.apart.value : className;
}

/** What tells the class. */
export function classFields(name: KindName): readonly string[] {
  const { expiresBy }: Kind = KINDS[name];
  return expiresBy ? [expiresBy.field, expiresBy.apart.field] : [];
}

export function expires(name: KindName): boolean {
  return (KINDS[name] as Kind).expiresBy !== undefined;
}

/** The field that the classes are made by. */
export function expiryField(name: KindName): string | undefined {
  return (KINDS[name] as Kind).expiresBy?.field;
}
