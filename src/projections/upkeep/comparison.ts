import {
  contentOf,
  type Document,
  identifierOf,
  isSameContent,
  isSamePartition,
  isSamePosition,
  type Position,
  precedes,
  type StoredDocument,
  type Write,
} from '../../read-model/document.js';
import type { KindName } from '../../read-model/kinds.js';
import type { ReadModel } from '../../read-model/read-model.js';
import type { Expiry } from '../../read-model/retention.js';
import type { Passage } from './expected.js';
import type { Differences } from './findings.js';
import { eachAtOnce, patiently } from './pace.js';
import { scanned } from './scan.js';

/** How many related faults are remembered; beyond that they are reported one by one. */
const REMEMBERED = { strayed: 1_000, told: 100_000 };

/** How often an unreadable document is read again. */
const ATTEMPTS = 2;

/** How many missing documents may wait to be reported. */
const MOST_ABSENT = { documents: 20_000, characters: 32 * 1024 * 1024 };

/** A write without a stored document, until perhaps a copy with another position is found. */
interface Absent {
  readonly write: Write;
  copy?: StoredDocument;
}

/** The document that reads find by the identifier; undefined if there is none. */
type Elsewhere = Document | 'unreadable' | undefined;

/**
 * Compares passages of the log with the documents stored with positions in them, in any order of passages. Each fault is
 * reported once: a document with a wrong position is `altered`, not missing in one passage and extra in another.
 */
export class Comparison {
  compared = 0;
  /** Identifiers of repaired `put` and `delete` writes; a newer write may have come at the same time. */
  readonly overwritten = new Set<string>();
  /** Documents at positions where the log has none; they may still match another position. */
  private readonly strayed = new Map<string, { readonly kind: KindName; readonly document: StoredDocument }>();
  private readonly absent = new Map<string, Absent>();
  private absentCharacters = 0;
  /** Identifiers whose fault has been reported. */
  private readonly told = new Set<string>();

  constructor(
    private readonly model: ReadModel,
    private readonly expiry: Expiry,
    private readonly differences: Differences,
    /** How many documents are read at the same time. */
    private readonly atOnce: number,
    private readonly signal: AbortSignal,
  ) {}

  /** The documents stored with positions in the passage. */
  async stored(passage: Passage, kinds: readonly KindName[]): Promise<StoredPassage> {
    const stored = new StoredPassage();
    const read = async (kind: KindName) => {
      for await (const page of scanned(this.model, kind, passage, this.signal)) {
        for (const document of page) stored.add(kind, document);
      }
    };
    await Promise.all(kinds.map(read));
    return stored;
  }

  /** `end`: documents with positions from there on have changed since the start, and are not compared. */
  async passage(passage: Passage, stored: StoredPassage, end: number): Promise<void> {
    for (const write of passage.replaced) stored.take(write);
    const found = passage.writes.map((write) => ({ write, copies: stored.take(write) }));
    // First: a write without a document at its position may match one of these.
    for (const { kind, document } of stored.rest()) await this.unexpected(kind, document);
    const missing = found.filter(({ copies }) => copies.length === 0).map(({ write }) => write);
    const elsewhere = await this.elsewhere(missing);
    for (const { write, copies } of found) {
      this.compared += 1;
      if (copies.length > 0) await this.found(write, copies);
      else await this.notFound(write, elsewhere.get(write), end);
    }
  }

  /** Whether `tellAbsent` is due. */
  get isFull(): boolean {
    return this.absent.size >= MOST_ABSENT.documents || this.absentCharacters >= MOST_ABSENT.characters;
  }

  /** Reports missing documents, except for writes that the log explains: their identifier has another record. */
  async tellAbsent(isExplained: (write: Write) => boolean = () => false): Promise<void> {
    for (const [key, { write, copy }] of this.absent) {
      if (isExplained(write) || this.hasExpired(write)) continue;
      await this.tell(key, copy ? 'altered' : 'missing', write, copy ? [copy] : []);
    }
    this.absent.clear();
    this.absentCharacters = 0;
  }

  /** The writes that wait to be reported as missing. */
  get absentWrites(): readonly Write[] {
    return [...this.absent.values()].map(({ write }) => write);
  }

  /** Reports documents without a record. Call it last. */
  async tellExtra(): Promise<void> {
    const left = [...this.strayed.values()];
    this.strayed.clear();
    for (const { kind, document } of left) await this.tellOneExtra(kind, document);
  }

  /** A document whose position in the log has no such document. */
  async unexpected(kind: KindName, document: StoredDocument): Promise<void> {
    if (this.expiry.has(kind, document)) return;
    const key = identifierOf(kind, document);
    const absent = this.absent.get(key);
    if (absent && !absent.copy) {
      absent.copy = document;
    } else if (this.told.has(key)) {
      if (this.differences.repairs) await this.removeCopy(kind, document);
    } else if (this.strayed.has(key) || this.strayed.size >= REMEMBERED.strayed) {
      await this.tellOneExtra(kind, document);
    } else {
      this.strayed.set(key, { kind, document });
    }
  }

  /** Documents at the position of the write. */
  private async found(write: Write, copies: readonly StoredDocument[]): Promise<void> {
    const content = contentOf(write);
    const whole = copies.filter((copy) => isSameContent(copy, content));
    const isRight = whole.some(({ misplaced }) => !misplaced);
    if ((isRight && copies.length === 1) || this.hasExpired(write)) return;
    const problem = whole.length > 0 ? 'misplaced' : 'altered';
    await this.tell(identifierOf(write.kind, write), problem, write, copies);
  }

  /** What reads find by the identifiers of writes without a document at their positions. */
  private async elsewhere(writes: readonly Write[]): Promise<Map<Write, Elsewhere>> {
    const elsewhere = new Map<Write, Elsewhere>();
    const kept = writes.filter((write) => !this.hasExpired(write));
    await eachAtOnce(kept, this.atOnce, async (write) => {
      elsewhere.set(write, await this.read(write));
    });
    return elsewhere;
  }

  private async notFound(write: Write, elsewhere: Elsewhere, end: number): Promise<void> {
    // It may have expired since.
    if (this.hasExpired(write)) return;
    const key = identifierOf(write.kind, write);
    if (this.told.has(key) || this.absent.has(key)) return;
    const strayed = this.strayed.get(key);
    if (strayed) {
      this.strayed.delete(key);
      return this.tell(key, 'altered', write, [strayed.document]);
    }
    if (elsewhere === 'unreadable') return this.tell(key, 'altered', write, []);
    if (!elsewhere) return this.wait(key, write);
    if (this.isRightElsewhere(write, elsewhere.place, end)) return;
    await this.tell(key, 'altered', write, []);
  }

  private wait(key: string, write: Write): void {
    this.absent.set(key, { write });
    this.absentCharacters += write.op === 'delete' ? 0 : write.source.length;
  }

  private async read({ kind, org, id }: Write): Promise<Elsewhere> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.model.get(kind, org, id);
      } catch {
        if (attempt === ATTEMPTS) return 'unreadable';
        // Wait until the store responds; if it does, the document itself is unreadable.
        await patiently(this.signal, () => this.model.progress('audit'));
      }
    }
  }

  /** Whether the log explains that the identifier is stored with that position. */
  private isRightElsewhere(write: Write, place: Position, end: number): boolean {
    if (isSamePosition(place, write.place)) return true;
    // The first creation of an identifier stays: the stored one was compared there, or is before the range.
    if (write.op === 'create') return precedes(place, write.place);
    if (!isSamePartition(place, write.place)) return false;
    return place.offset >= end;
  }

  private async tell(
    key: string,
    problem: 'missing' | 'altered' | 'misplaced',
    write: Write,
    copies: readonly StoredDocument[],
  ): Promise<void> {
    if (this.told.size < REMEMBERED.told) this.told.add(key);
    // A copy at its own location is overwritten, not removed, so that reads do not miss it meanwhile.
    const astray = copies.filter(({ misplaced, place }) => misplaced || !isSamePosition(place, write.place));
    await this.differences.note(problem, write.kind, write, async () => {
      // First: the repaired document may take the location of the copy.
      for (const copy of astray) await this.removeCopy(write.kind, copy);
      await this.overwrite(write);
    });
  }

  private async tellOneExtra(kind: KindName, document: StoredDocument): Promise<void> {
    await this.differences.note('extra', kind, document, () => this.removeCopy(kind, document));
  }

  /** Stores what the log says. */
  async overwrite(write: Write): Promise<void> {
    if (write.op !== 'create') this.overwritten.add(identifierOf(write.kind, write));
    await patiently(this.signal, () => this.model.overwrite(write));
  }

  private async removeCopy(kind: KindName, document: StoredDocument): Promise<void> {
    await patiently(this.signal, () => this.model.remove(kind, document));
  }

  private hasExpired(write: Write): boolean {
    return write.op !== 'delete' && this.expiry.has(write.kind, write);
  }
}

/** The documents stored with positions in a passage. */
class StoredPassage {
  private readonly byIdentifier = new Map<string, { readonly kind: KindName; documents: StoredDocument[] }>();

  add(kind: KindName, document: StoredDocument): void {
    const key = identifierOf(kind, document);
    const entry = this.byIdentifier.get(key);
    if (entry) entry.documents.push(document);
    else this.byIdentifier.set(key, { kind, documents: [document] });
  }

  /** Removes and returns those of this identifier and position. */
  take({ kind, org, id, place }: Write): StoredDocument[] {
    const entry = this.byIdentifier.get(identifierOf(kind, { org, id }));
    if (!entry) return [];
    const taken = entry.documents.filter((document) => isSamePosition(document.place, place));
    entry.documents = entry.documents.filter((document) => !taken.includes(document));
    return taken;
  }

  *rest(): Generator<{ readonly kind: KindName; readonly document: StoredDocument }> {
    for (const { kind, documents } of this.byIdentifier.values()) {
      for (const document of documents) yield { kind, document };
    }
  }
}
