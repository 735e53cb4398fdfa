import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { ControlError } from '../../contract/errors.js';
import type { Slot, Slots } from '../../platform/slots.js';

/** A client that has read too little for this long loses its slot; sooner if others wait for it. */
const STALLED_MS = 60_000;
const WANTED_STALLED_MS = 10_000;
const LEAST_BYTES = 64 * 1024;
const LOOK_MS = 500;

interface Held {
  readonly raw: ServerResponse;
  readonly place: Slot;
  /** How much the connection had taken at an instant. */
  bytes: number;
  since: number;
}

/**
 * Holds each organization to its share of large reads: lists, exports and reports. A read has its place from before it is
 * worked out until its last byte has left, so that what waits in memory for slow clients is bounded by places, too.
 */
export class LargeReads {
  private readonly held = new Set<Held>();
  private watch: NodeJS.Timeout | undefined;

  constructor(private readonly places: Slots) {}

  /** When the key is checked and the body is there. */
  readonly hook = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    if (!isLarge(request)) return done();
    this.enter(request.principal?.org ?? '', reply.raw).then(() => done(), done);
  };

  private async enter(org: string, raw: ServerResponse): Promise<void> {
    const gone = new AbortController();
    const left = () => gone.abort(new ControlError('request_timeout', 'the client closed the connection'));
    raw.once('close', left);
    const place = await this.places.take(org, gone.signal);
    raw.off('close', left);
    const held = { raw, place, bytes: 0, since: performance.now() };
    this.held.add(held);
    this.watch ??= setInterval(() => this.look(), LOOK_MS).unref();
    const leave = () => this.leave(held);
    if (raw.destroyed) leave();
    else raw.once('close', leave);
  }

  private leave(held: Held): void {
    held.place.release();
    this.held.delete(held);
    if (this.held.size > 0) return;
    clearInterval(this.watch);
    this.watch = undefined;
  }

  private look(): void {
    const now = performance.now();
    for (const held of this.held) {
      const { raw, place } = held;
      const bytes = raw.socket?.bytesWritten ?? 0;
      // If nothing waits to be sent, this process is slow, not the client.
      if (raw.writableLength === 0 || bytes - held.bytes >= LEAST_BYTES) Object.assign(held, { bytes, since: now });
      else if (now - held.since > (place.isWanted ? WANTED_STALLED_MS : STALLED_MS)) raw.destroy();
    }
  }
}

/** Every list is, for it may show a thousand resources; and what says so. */
function isLarge({ routeOptions: { config } }: FastifyRequest): boolean {
  const { access, large } = config;
  return large ?? (typeof access === 'object' && access.on === 'some');
}
