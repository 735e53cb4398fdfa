import { exchange, type Incoming } from '../platform/exchange.js';
import { NoteInvalid, type OpenNote, openNote } from '../tlog/note.js';
import { FormatInvalid, fromDecimal } from '../tlog/text.js';

/** A witness of the policy that can be asked. */
export interface WitnessAddress {
  /** In the policy. */
  readonly name: string;
  readonly vkey: string;
  /** The prefix of `/add-checkpoint`. */
  readonly url: string;
}

/** What a witness is asked to cosign. */
export interface Submission {
  /** The checkpoint, signed by the log. */
  readonly note: string;
  readonly origin: string;
  readonly size: number;
  readonly signal: AbortSignal;
  /** Shows that it extends the tree of so many leaves. */
  path(from: number): Promise<readonly Buffer[]>;
}

/** A witness that did not cosign. The message names it, the reason and the remedy. */
export class NotCosigned extends Error {
  override readonly name = 'NotCosigned';

  constructor(
    readonly witness: string,
    /** Whether the witness holds another history than this log. */
    readonly isFork: boolean,
    reason: string,
  ) {
    super(`witness ${witness}: ${reason}`);
  }
}

const LIMITS = { timeoutMs: 5_000, maxBytes: 16_384 };

/** The first may tell the size; another cut may be cosigned between. */
const ATTEMPTS = 3;

/** By how much the clock of a witness may be off. */
const CLOCK_MS = 5 * 60_000;

/** Asks one witness for cosignatures: C2SP tlog-witness. One request at a time. */
export class WitnessClient {
  /** How many leaves it cosigned last, as far as known: after the start it is asked. */
  #cosigned = 0;

  constructor(
    readonly witness: WitnessAddress,
    private readonly now: () => number = Date.now,
  ) {}

  /** Its signature line for the note, verified. Throws `NotCosigned` or `ExchangeFailed`. */
  async cosign(submission: Submission): Promise<string> {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.#send(submission);
      if (answer.status === 200) {
        const line = this.#verified(submission, answer.body.toString());
        this.#cosigned = submission.size;
        return line;
      }
      const size = sizeIn(answer);
      if (size === undefined) throw this.#refused(submission, answer);
      if (size > submission.size) throw this.#ahead(submission, size);
      if (attempt === ATTEMPTS)
        throw new NotCosigned(
          this.witness.name,
          false,
          `it was asked from ${this.#cosigned} entries on, and says ${size}`,
        );
      this.#cosigned = size;
    }
  }

  async #send({ note, size, path, signal }: Submission): Promise<Incoming> {
    // Of a larger tree than this one the witness tells the size again.
    const old = Math.min(this.#cosigned, size);
    const hashes = old > 0 ? await path(old) : [];
    const lines = [`old ${old}`, ...hashes.map((hash) => hash.toString('base64')), '', note];
    const url = `${this.witness.url.replace(/\/+$/, '')}/add-checkpoint`;
    return exchange(url, { method: 'POST', body: lines.join('\n'), signal, ...LIMITS });
  }

  /** The witness may have sent cosignatures of other keys too. */
  #verified({ note }: Submission, lines: string): string {
    const { name, vkey } = this.witness;
    const rows = lines.split('\n').filter((row) => row.startsWith('— '));
    for (const row of rows) {
      const time = timeOf(() => openNote(`${note}${row}\n`, [vkey]));
      if (time === undefined) continue;
      const off = time - this.now();
      if (Math.abs(off) <= CLOCK_MS) return `${row}\n`;
      throw new NotCosigned(
        name,
        false,
        `its cosignature is ${off > 0 ? 'from the future' : 'old'}, by ${Math.abs(off / 1000)} s; set its clock, or this one`,
      );
    }
    throw new NotCosigned(
      name,
      false,
      `no signature in its answer is a cosignature by ${vkey}; check the key in the policy`,
    );
  }

  #ahead({ origin, size }: Submission, known: number): NotCosigned {
    const reason = `it cosigned ${known} entries of ${origin}, which has only ${size} here: an older log was restored`;
    return new NotCosigned(this.witness.name, true, `${reason}; begin a new epoch (docs/operating.md, "Epochs")`);
  }

  #refused({ origin }: Submission, { status, body }: Incoming): NotCosigned {
    const reasons: Readonly<Record<number, string>> = {
      403: `it trusts none of the keys that signed the checkpoint of ${origin}; give it the key that GET /audit/-tlog/vkey shows`,
      404: `it does not know the log ${origin}; have it added with the key that GET /audit/-tlog/vkey shows`,
      409: `it holds another root for the same size of ${origin}: one of the two histories is false`,
      422: `${origin} does not extend what it cosigned before: one of the two histories is false`,
      429: 'it is asked too often',
    };
    const text = body.toString('utf8', 0, 200).trim();
    const reason = reasons[status] ?? `it answered ${status}${text && `: ${JSON.stringify(text)}`}`;
    return new NotCosigned(this.witness.name, status === 409 || status === 422, reason);
  }
}

/** What a 409 says that the witness cosigned. */
function sizeIn({ status, contentType, body }: Incoming): number | undefined {
  if (status !== 409 || contentType !== 'text/x.tlog.size') return undefined;
  return fromDecimal(body.toString().replace(/\n$/, ''));
}

/** Of a verified cosignature in milliseconds; undefined if it is another's, or not one. */
function timeOf(open: () => OpenNote): number | undefined {
  try {
    return open().signatures[0]?.time;
  } catch (error) {
    if (error instanceof NoteInvalid || error instanceof FormatInvalid) return undefined;
    throw error;
  }
}
