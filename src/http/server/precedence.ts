import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface Connection {
  /** The one that HTTP is spoken on: with TLS, another once the handshake is done. */
  socket: Socket;
  /** `performance.now()`. */
  readonly openedAt: number;
  /** Of the requests that are not answered to the end. */
  readonly answers: ServerResponse[];
  /** The connections of the same address; undefined where they are not counted. */
  readonly peers: Precedence | undefined;
}

/** Open connections, in the order in which they are given up when there are too many. */
export class Precedence implements Iterable<Connection> {
  /** No request is under way; the one that rests the longest is first. */
  private readonly idle = new Set<Connection>();
  /** In the order of their requests. */
  private readonly asking = new Set<Connection>();

  get size(): number {
    return this.idle.size + this.asking.size;
  }

  rest(connection: Connection): void {
    this.remove(connection);
    this.idle.add(connection);
  }

  work(connection: Connection): void {
    this.remove(connection);
    this.asking.add(connection);
  }

  remove(connection: Connection): void {
    this.idle.delete(connection);
    this.asking.delete(connection);
  }

  /** The next to be given up; undefined when the service works for all of them. */
  first(): Connection | undefined {
    for (const connection of this.idle) return connection;
    for (const connection of this.asking) if (waitsForClient(connection)) return connection;
    return undefined;
  }

  *[Symbol.iterator](): Iterator<Connection> {
    yield* this.idle;
    yield* this.asking;
  }
}

/** Whether nothing is left to do for the service: the rest of a request is missing, or its answer is not taken. */
function waitsForClient({ answers }: Connection): boolean {
  return answers.every((answer) => answer.writableEnded || !answer.req.complete);
}
