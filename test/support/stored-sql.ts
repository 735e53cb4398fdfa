import type { DatabaseSync } from 'node:sqlite';
import { packed } from '../../src/read-model/embedded/identifier.js';
import { Texts } from '../../src/read-model/embedded/texts.js';

/**
 * For SQL on the file of an embedded read model: `stored(id)` is an identifier as rows have it, `number(text)` what they
 * have in place of a text.
 */
export function addFunctions(db: DatabaseSync): void {
  db.function('stored', (id) => packed(String(id)));
  db.function('number', (text) => new Texts(db).numberOf(String(text)));
}
