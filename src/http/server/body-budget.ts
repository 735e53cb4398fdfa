import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished, Transform } from 'node:stream';
import type { FastifyReply, FastifyRequest, preParsingHookHandler, RequestPayload } from 'fastify';
import { ControlError } from '../../contract/errors.js';

/** What one organization may have of the budget, so that it does not shut the others out. */
const ORG_SHARE = 3 / 4;

/** Bodies up to this size have room of their own, so that large ones, which take long to arrive, never hold them up. */
const SMALL_BYTES = 64 * 1024;

/** The room of small bodies, by the bytes of the whole budget; when it is taken, they take of the rest as the others do. */
const SMALL_SHARE = 1 / 8;

/** The body of one request under way. */
interface Held {
  readonly org: string;
  /** Where its bytes count. */
  pool: Pool;
  bytes: number;
  /** Since when it has its share. */
  since: number;
  /** Refuses it, unless all of it has arrived. */
  readonly cut: () => void;
  /** The handler works with the body until it sends a response, whether or not the client is still there. */
  isHandled: boolean;
  isClosed: boolean;
}

interface Waiter {
  readonly held: Held;
  readonly bytes: number;
  readonly admitted: () => void;
}

/** How long a body may wait for its share. What is sent meanwhile stays in the buffers of the connection. */
const WAIT_MS = 5_000;

/** How long an admitted body may take to arrive while others wait for its share: less than those wait. */
const ARRIVAL_MS = 3_000;

const CHECK_MS = 250;

/** A number of bytes that requests share. */
class Pool {
  private readonly taken = new Map<string, number>();
  total = 0;

  constructor(private readonly bytes: number) {}

  /** Whether there was room for so much more. One that is larger than all is admitted alone. */
  take(held: Held, more: number): boolean {
    const { org } = held;
    const own = this.taken.get(org) ?? 0;
    const isAlone = this.total === held.bytes;
    if (!isAlone && (own + more > this.bytes * ORG_SHARE || this.total + more > this.bytes)) return false;
    held.pool = this;
    held.bytes += more;
    this.total += more;
    this.taken.set(org, own + more);
    return true;
  }

  release(held: Held): void {
    const left = (this.taken.get(held.org) ?? 0) - held.bytes;
    if (left > 0) this.taken.set(held.org, left);
    else this.taken.delete(held.org);
    this.total -= held.bytes;
    held.bytes = 0;
  }
}

/**
 * Bounds the bytes of all request bodies under way, from before a body is read until its response is sent: by the
 * `Content-Length`, or byte by byte if there is none or the body is unpacked. A request beyond the bound waits, and is refused with 429 and
 * `Retry-After` if it has waited too long; nothing of its body is kept. One that is larger than the whole budget is admitted
 * alone. While others wait, a body that takes more than 3 s to arrive is refused: nobody holds a share by sending slowly.
 */
export class BodyBudget {
  private readonly all: Pool;
  private readonly small: Pool;
  private readonly held = new WeakMap<FastifyRequest, Held>();
  private readonly arriving = new Set<Held>();
  private readonly waiting = new Set<Waiter>();

  constructor(
    private readonly bytes: number,
    private readonly waitMs = WAIT_MS,
    private readonly arrivalMs = ARRIVAL_MS,
  ) {
    this.all = new Pool(bytes);
    this.small = new Pool(bytes * SMALL_SHARE);
  }

  /** The bytes under way. */
  get underWay(): number {
    return this.all.total + this.small.total;
  }

  /** When the key is checked, and before the body is read. */
  readonly admit: preParsingHookHandler = (request, reply, payload, done) => {
    // How long it is once it is unpacked is not known either.
    const isChunked = request.headers['transfer-encoding'] !== undefined || payload !== request.raw;
    const bytes = Number(request.headers['content-length'] ?? 0);
    // A longer one is refused by its length.
    if (!isChunked && (bytes === 0 || bytes > request.routeOptions.bodyLimit)) return done(null, payload);
    const held = this.newHeld(request, reply);
    this.held.set(request, held);
    reply.raw.once('close', () => {
      held.isClosed = true;
      this.arriving.delete(held);
      if (!held.isHandled) this.release(held);
    });
    if (isChunked) return done(null, this.counted(payload, held));
    if (this.take(held, bytes)) return done(null, payload);
    this.wait(held, bytes, reply.raw, (isAdmitted) => {
      if (isAdmitted) done(null, payload);
      else afterBody(request.raw, () => done(this.crowded()));
    });
  };

  private newHeld(request: FastifyRequest, reply: FastifyReply): Held {
    const cut = () => {
      if (request.raw.complete) return;
      request.endsConnection = true;
      reply.send(this.late());
    };
    const org = request.principal?.org ?? '';
    return { org, pool: this.all, bytes: 0, since: 0, cut, isHandled: false, isClosed: false };
  }

  private wait(held: Held, bytes: number, connection: ServerResponse, then: (isAdmitted: boolean) => void): void {
    const end = (isAdmitted: boolean) => {
      clearTimeout(timer);
      clearInterval(check);
      connection.off('close', gone);
      this.waiting.delete(waiter);
      then(isAdmitted);
    };
    const gone = () => end(false);
    const timer = setTimeout(() => end(false), this.waitMs);
    const check = setInterval(() => this.cutLate(), Math.min(CHECK_MS, this.arrivalMs));
    const waiter = { held, bytes, admitted: () => end(true) };
    this.waiting.add(waiter);
    connection.once('close', gone);
  }

  /** Before the handler. */
  readonly begin = (request: FastifyRequest, _reply: FastifyReply, done: () => void): void => {
    const held = this.held.get(request);
    if (held) {
      held.isHandled = true;
      this.arriving.delete(held);
    }
    done();
  };

  /** When the handler has a response. */
  readonly end = (
    request: FastifyRequest,
    _reply: FastifyReply,
    payload: unknown,
    done: (error: null, payload: unknown) => void,
  ): void => {
    const held = this.held.get(request);
    if (held) {
      held.isHandled = false;
      if (held.isClosed) this.release(held);
    }
    done(null, payload);
  };

  private counted(payload: RequestPayload, held: Held): RequestPayload {
    const counter = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        if (this.hold(held, chunk.length, this.all)) return done(null, chunk);
        this.cutLate();
        done(this.crowded());
      },
    });
    Object.defineProperty(counter, 'receivedEncodedLength', { get: () => payload.receivedEncodedLength });
    payload.once('error', (error) => counter.destroy(error));
    return payload.pipe(counter);
  }

  /** Whether there was room for a body of this length. */
  private take(held: Held, bytes: number): boolean {
    const isSmall = bytes <= Math.min(SMALL_BYTES, this.bytes * SMALL_SHARE);
    return (isSmall && this.hold(held, bytes, this.small)) || this.hold(held, bytes, this.all);
  }

  private hold(held: Held, more: number, pool: Pool): boolean {
    if (!pool.take(held, more)) return false;
    if (held.since === 0) held.since = performance.now();
    this.arriving.add(held);
    return true;
  }

  /** One whose last byte is there is not late, though it may still wait for its turn. */
  private cutLate(): void {
    const late = performance.now() - this.arrivalMs;
    for (const held of this.arriving) {
      if (held.since > late) continue;
      this.arriving.delete(held);
      held.cut();
    }
  }

  private release(held: Held): void {
    held.pool.release(held);
    for (const { held: next, bytes, admitted } of [...this.waiting]) if (this.take(next, bytes)) admitted();
  }

  private late(): ControlError {
    return new ControlError(
      'rate_limited',
      `the body did not arrive within ${this.arrivalMs} ms, while other requests waited for the memory that it takes; retry, with smaller requests`,
    );
  }

  private crowded(): ControlError {
    return new ControlError(
      'rate_limited',
      `the bodies of other requests have the ${this.bytes} bytes that this process allows (CONTROL_MEMORY_MIB); retry, with fewer or smaller requests at once`,
    );
  }
}

/** Reads the rest of the body and drops it: a client that is still sending would not read the response. */
function afterBody(request: IncomingMessage, then: () => void): void {
  finished(request.resume(), then);
}
