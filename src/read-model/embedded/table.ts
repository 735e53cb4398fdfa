import type { DatabaseSync } from 'node:sqlite';
import { type Document, type OutcomeCode, precedes, type StoredDocument, type Write } from '../document.js';
import { type KindName, kindOf } from '../kinds.js';
import { expiryClass, hasExpired, type Limits } from '../retention.js';
import type { RowExpiry } from './condition.js';
import { packed } from './identifier.js';
import { columnsOf, type Row, type RowFormat, rowReader } from './row.js';
import { ExpiredRows, type Transaction } from './sweep.js';
import { Tally } from './tally.js';

type Create = Write & { readonly op: 'create' };

/**
 * The documents of a kind, with the counts kept of them. Writes run within a transaction of the caller, who reports how it
 * ended.
 */
export class KindTable {
  private readonly tally: Tally;
  /** Absent for a kind whose documents do not expire. */
  private readonly expired: ExpiredRows | undefined;
  private readonly countBy: string;
  /** Asked for once a transaction. */
  private readonly limits = new Map<string, Limits>();
  private readonly statements: ReturnType<typeof statementsOf>;
  private readonly read: (rowid: number) => Row | undefined;

  private readonly name: KindName;

  constructor(
    db: DatabaseSync,
    readonly rows: RowFormat,
    private readonly expiry: RowExpiry,
  ) {
    const { kind: name, texts } = rows;
    this.name = name;
    const { expiresBy, countBy = '' } = kindOf(name);
    if (expiresBy && expiresBy.field !== countBy) throw new Error(`${name} must count by the field it expires by`);
    this.countBy = countBy;
    this.tally = new Tally(db, name, texts);
    this.expired = expiresBy && new ExpiredRows(db, name, expiry, this.tally, texts);
    this.statements = statementsOf(db, name);
    this.read = rowReader(db, name);
  }

  apply(write: Write): OutcomeCode {
    if (write.op === 'create') return this.create(write);
    if (this.statements.put.run(...this.rows.valuesOf(write)).changes > 0) return 'applied';
    return this.rows.isAtPlace(this.find(write.org, write.id), write.place) ? 'applied' : 'stale';
  }

  private create(write: Create): OutcomeCode {
    const { org, id, place, fields } = write;
    const limits = this.limitsOf(org);
    if (hasExpired(this.name, limits, fields, place.time)) return 'applied';
    if (this.insert(write)) return 'applied';
    const row = this.find(org, id);
    const isExpired = row && hasExpired(this.name, limits, this.rows.fieldsOf(row), Number(row.time));
    if (row && (isExpired || precedes(place, this.rows.placeOf(row)))) {
      this.delete(org, row);
      this.insert(write);
      return 'applied';
    }
    if (this.rows.isAtPlace(row, place)) return 'applied';
    return (row?.hash ?? undefined) === write.hash ? 'duplicate' : 'conflict';
  }

  get(org: string, id: string): Document | undefined {
    const row = this.find(org, id);
    if (!row) return undefined;
    const document = this.rows.documentOf(this.rows.texts.find(org), row);
    const limits = this.expiry.limits(this.name, org);
    const gone = row.deleted || hasExpired(this.name, limits, document.fields, document.place.time);
    return gone ? undefined : document;
  }

  /** A document that replaced an expired one stays. */
  overwrite(write: Write): void {
    const { org, place } = write;
    const found = this.statements.rowid.get(this.rows.texts.find(org), packed(write.id));
    const row = found && this.read(Number(found.rowid));
    const expired = write.op !== 'delete' && hasExpired(this.name, this.limitsOf(org), write.fields, place.time);
    if (expired && row && this.rows.isWhole(row) && !this.rows.isAtPlace(row, place)) return;
    if (row) this.delete(org, row);
    if (!expired) this.insert(write);
  }

  /** No effect if something else is stored there now. */
  remove({ location, org, id, place }: StoredDocument): void {
    const row = this.read(Number(location));
    if (!row) return;
    const stored = this.rows.storedOf(location, row);
    if (stored.org !== org || stored.id !== id) return;
    if (this.rows.isAtPlace(row, place) || stored.misplaced) this.delete(org, row);
  }

  async sweep(transaction: Transaction, signal: AbortSignal): Promise<number> {
    return this.expired?.sweep(transaction, signal) ?? 0;
  }

  /** As `ReadModel.count`; undefined if the database was closed meanwhile. */
  async count(org: string): Promise<ReadonlyMap<string, number> | undefined> {
    return this.expired ? this.expired.countLeft(org) : this.tally.of(org);
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
    this.expired?.recount();
  }

  private find(org: string, id: string): Row | undefined {
    return this.statements.select.get(this.rows.texts.find(org), packed(id));
  }

  private limitsOf(org: string): Limits {
    const known = this.limits.get(org);
    if (known) return known;
    const limits = this.expiry.limits(this.name, org);
    this.limits.set(org, limits);
    return limits;
  }

  /** Whether its identifier was free. */
  private insert(write: Write): boolean {
    if (this.statements.create.run(...this.rows.valuesOf(write)).changes === 0) return false;
    if (write.op !== 'delete') this.changed(write.org, write.fields, write.place.time, 1);
    return true;
  }

  private delete(org: string, row: Row): void {
    this.statements.delete.run(Number(row.rowid));
    if (this.rows.isWhole(row)) {
      this.changed(org, this.rows.fieldsOf(row), Number(row.time), -1);
    } else {
      this.tally.recount(org);
      this.expired?.recount(org);
    }
  }

  private changed(org: string, fields: Document['fields'], time: number, change: 1 | -1): void {
    this.tally.add(org, fields[this.countBy], change);
    const className = expiryClass(this.name, fields);
    if (className !== undefined) this.expired?.changed(org, className, time, change);
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
