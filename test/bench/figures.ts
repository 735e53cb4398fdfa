/**
 * A figure is a ratio of two things measured in turns in the same run: single times say nothing about a noisy machine. Only
 * the promises about the sealed history are in events a second of CPU time, in milliseconds and in bytes.
 */
export interface Figure {
  readonly figure: string;
  readonly about: string;
  readonly better: 'more' | 'less';
  /** What must be met, and what is aimed at. */
  readonly bar: number;
  readonly stretch: number;
}

export interface Options {
  readonly rounds: number;
  readonly seconds: number;
  /** Of the log in which proofs are asked for, and at most of the one that is sealed: fewer for a short run. */
  readonly events: number;
}

/** The ratios of all rounds, by figure. */
export class Rounds {
  private readonly ratios = new Map<string, number[]>();

  add(round: Iterable<readonly [figure: string, ratio: number]>): void {
    for (const [figure, ratio] of round) this.ratios.set(figure, [...this.of(figure), ratio]);
  }

  of(figure: string): readonly number[] {
    return this.ratios.get(figure) ?? [];
  }
}

const more = (figure: string, about: string, bar: number, stretch: number): Figure => ({
  ...{ figure, about, better: 'more', bar, stretch },
});
const less = (figure: string, about: string, bar: number, stretch: number): Figure => ({
  ...{ figure, about, better: 'less', bar, stretch },
});

export const FIGURES: readonly Figure[] = [
  more('sync-over-postgres', 'sync publish over Fastify and PostgreSQL, events/s', 1.6, 2.5),
  less('sync-cpu-over-postgres', 'the same, CPU an event', 0.45, 0.3),
  more('bulk-over-postgres', 'bulk of 500 over a bulk of 500 through unnest, events/s', 1.5, 3),
  less('bulk-cpu-over-postgres', 'the same, CPU an event', 0.45, 0.3),
  more('sync-over-echo', 'sync publish over a bare echo, requests/s', 0.35, 0.5),
  less('sync-cpu-over-echo', 'the same, CPU a request', 2.9, 2),
  less('sync-p99-over-p50', 'sync publish at 64 connections, p99 over p50', 3, 2),
  more('sync-over-async', 'sync over async publish, requests/s', 0.8, 0.95),
  more('ingest-over-bulk', 'ingest of 500 lines over a bulk of the same events, events/s', 0.8, 1),
  more('otlp-over-bulk', 'OTLP in protobuf over a bulk of the same 500 events, events/s', 0.7, 0.8),
  less('bytes-written', 'bytes written an event over its size', 6, 3),
  less('bytes-on-disk', 'bytes on disk an event over its size', 1.7, 0.6),
  less('list-over-postgres', '50 events of a resource among 1,000,000, over the same of PostgreSQL, p50', 0.8, 0.5),
  less('list-at-a-million', 'the same, over among 10,000, p50', 1.3, 1.1),
  more('rebuild-over-bulk', 'rebuild of the read model over bulk publish, events/s', 2, 5),
  more('client-over-bulk', '`record` of the client until delivered, over bulk requests, events/s', 0.8, 0.95),
  less('verify-over-sha256', 'verifying an export over SHA-256 of its lines, CPU an event', 6, 3),
  more('verify', 'verifying an export, events a CPU second', 100_000, 300_000),
  more('sealing-catch-up', 'sealing a log that has no trees, events a CPU second', 100_000, 150_000),
  less('sealed-bytes', 'bytes of trees an event', 75, 60),
  less('trust-cpu', 'CPU of a sync publish and its sealing over the same without sealing', 1.05, 1.03),
  less('prove', 'the proof of one event among 1,000,000, p50 in milliseconds', 5, 2),
  less('start-to-ready', 'start of the service on an empty folder over "node -e 0", wall time', 20, 10),
  less('svc-version', '"svc --version" over "node -e 0", wall time', 4, 2),
];

/** With `--cluster`: on Kafka and Elasticsearch. */
export const CLUSTER_FIGURES: readonly Figure[] = [
  more(
    'projector-over-bulk',
    'the projector, Kafka to Elasticsearch, over a bare _bulk replay of the same documents, events/s',
    0.6,
    0.85,
  ),
  more('batched-over-single-append', 'appends to the log over one kafkajs send an event, 512 at once, events/s', 4, 5),
  more('cluster-async-over-echo', 'async publish through two API processes over a bare echo, requests/s', 0.1, 0.2),
  more('cluster-sync-over-echo', 'sync publish through the same over a bare echo, requests/s', 0.02, 0.05),
  less('cluster-api-cpu-over-echo', 'CPU of an async publish in the API processes over a bare echo', 8, 4),
  less('cluster-projector-cpu-over-echo', 'CPU of its event in the projector over a bare echo', 4, 2),
  less('cluster-sync-p50-over-refresh', 'p50 of sync publish over the refresh interval, 100 ms', 2, 1.2),
  less('cluster-sync-p99-over-refresh', 'p99 of sync publish over the refresh interval, 100 ms', 5, 2.5),
];

export function meets({ better }: Figure, value: number, limit: number): boolean {
  return better === 'more' ? value >= limit : value <= limit;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low = Number.NaN, high = Number.NaN] = sorted.slice(Math.ceil(sorted.length / 2) - 1, middle + 1);
  return sorted.length % 2 === 1 ? low : (low + high) / 2;
}

export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
