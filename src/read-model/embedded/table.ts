import type { DatabaseSync } from 'node:sqlite';
import type { Document, Fields, OutcomeCode, StoredDocument, Write } from '../document.js';
import { expiryClass, valueOfClass } from '../expiry-class.js';
import type { KindName } from '../kinds.js';
import { type Expiry, hasExpired, type Limits } from './expiry.js';
import { Marks } from './marks.js';
import {
  columnsOf,
  documentOf,
  fieldIn,
  isAtPlace,
  isWhole,
  kindOf,
  type Row,
  rowReader,
  shardOf,
  valuesOf,
} from './row.js';
import { type Tally, tallyOf } from './tally.js';
import type { WalkedRow } from './walk.js';

type Create = Write & { readonly op: 'create' };

/**
 * The documents of a kind, with what is kept about them. Writes run within a transaction of the caller, who tells how it
 * ended.
 */
export class KindTable {
  readonly marks: Marks;
  readonly tally: Tally;
  private readonly countBy: string;
  /** Asked for once a transaction. */
  private readonly limits = new Map<string, Limits>();
  private readonly statements: ReturnType<typeof statementsOf>;
  private readonly read: (rowid: number) => Row | undefined;

  constructor(
    db: DatabaseSync,
    readonly name: KindName,
    private readonly expiry: Expiry,
  ) {
    const { expiresBy, countBy = '' } = kindOf(name);
    if (expiresBy && expiresBy.field !== countBy) throw new Error(`${name} does not count by what it expires by`);
    this.countBy = countBy;
    this.marks = new Marks(db, name);
    this.tally = tallyOf(db, name);
    this.statements = statementsOf(db, name);
    this.read = rowReader(db, name);
  }

  apply(write: Write): OutcomeCode {
    if (write.op === 'create') return this.create(write);
    if (this.statements.put.run(...valuesOf(write)).changes > 0) return 'applied';
    return isAtPlace(this.statements.select.get(write.org, write.id), write.place) ? 'applied' : 'stale';
  }

  private create(write: Create): OutcomeCode {
    const { org, id, place } = write;
    const limits = this.limitsOf(org);
    if (hasExpired(limits, this.classOf(write.fields), place.time)) return 'applied';
    if (this.insert(write)) return 'applied';
    const row = this.statements.select.get(org, id);
    if (row && hasExpired(limits, this.classOfRow(row), Number(row.time))) {
      this.delete(org, row);
      this.insert(write);
      return 'applied';
    }
    if (isAtPlace(row, place)) return 'applied';
    return (row?.hash ?? undefined) === write.hash ? 'duplicate' : 'conflict';
  }

  get(org: string, id: string): Document | undefined {
    const row = this.statements.select.get(org, id);
    if (!row) return undefined;
    const document = documentOf(this.name, org, row);
    const limits = this.expiry.limits(this.name, org);
    const gone = row.deleted || hasExpired(limits, this.classOf(document.fields), document.place.time);
    return gone ? undefined : document;
  }

  /** What took the place of an expired document stays. */
  overwrite(write: Write): void {
    const { org, place } = write;
    const found = this.statements.rowid.get(org, write.id);
    const row = found && this.read(Number(found.rowid));
    const expired = write.op !== 'delete' && hasExpired(this.limitsOf(org), this.classOf(write.fields), place.time);
    if (expired && row && isWhole(this.name, row) && !isAtPlace(row, place)) return;
    if (row) this.delete(org, row);
    if (!expired) this.insert(write);
  }

  /** No effect where something else is stored there now. */
  remove({ location, org, id, place }: StoredDocument): void {
    const row = this.read(Number(location));
    if (row?.org !== org || row.id !== id) return;
    if (isAtPlace(row, place) || !isWhole(this.name, row)) this.delete(org, row);
  }

  /** Removes what `walk` found expired. */
  sweepAway(org: string, shard: string, rows: readonly WalkedRow[]): void {
    for (const { rowid, value, offset, ordinal } of rows) {
      this.statements.delete.run(rowid);
      this.tally.add(org, valueOfClass(this.name, value), -1);
      this.marks.deleted(org, shard, value, [offset, ordinal]);
    }
  }

  /** The transaction is about to be committed. */
  flush(): void {
    this.tally.flush();
    this.limits.clear();
  }

  /** The transaction was rolled back. */
  forget(): void {
    this.tally.forget();
    this.limits.clear();
    this.marks.load();
  }

  private limitsOf(org: string): Limits {
    const known = this.limits.get(org);
    if (known) return known;
    const limits = this.expiry.limits(this.name, org);
    this.limits.set(org, limits);
    return limits;
  }

  /** Whether there was room for it. */
  private insert(write: Write): boolean {
    if (this.statements.create.run(...valuesOf(write)).changes === 0) return false;
    if (write.op === 'delete') return true;
    const { org, place, fields } = write;
    this.tally.add(org, fields[this.countBy], 1);
    const name = this.classOf(fields);
    if (name !== undefined) this.marks.inserted(org, shardOf(place), name, [place.offset, place.ordinal]);
    return true;
  }

  private delete(org: string, row: Row): void {
    this.statements.delete.run(Number(row.rowid));
    if (!isWhole(this.name, row)) {
      this.tally.recount(org);
      this.marks.deletedSomewhere(org);
      return;
    }
    this.tally.add(org, fieldIn(row, this.countBy), -1);
    const name = this.classOfRow(row);
    const spot = [Number(row.offset), Number(row.ordinal)] as const;
    if (name !== undefined) this.marks.deleted(org, String(row.shard), name, spot);
  }

  private classOf(fields: Fields): string | undefined {
    return expiryClass(this.name, (field) => fields[field]);
  }

  private classOfRow(row: Row): string | undefined {
    return expiryClass(this.name, (field) => fieldIn(row, field));
  }
}

function statementsOf(db: DatabaseSync, name: KindName) {
  const columns = columnsOf(name);
  const insert = `INSERT INTO "${name}" (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;
  const all = columns.map((one) => `${one} = excluded.${one}`).join(', ');
  const newer = `(excluded."offset", excluded.ordinal) > ("${name}"."offset", "${name}".ordinal)`;
  return {
    create: db.prepare(`${insert} ON CONFLICT DO NOTHING`),
    put: db.prepare(`${insert} ON CONFLICT DO UPDATE SET ${all} WHERE ${newer}`),
    select: db.prepare(`SELECT rowid, * FROM "${name}" WHERE org = ? AND id = ?`),
    rowid: db.prepare(`SELECT rowid FROM "${name}" WHERE org = ? AND id = ?`),
    delete: db.prepare(`DELETE FROM "${name}" WHERE rowid = ?`),
  };
}
