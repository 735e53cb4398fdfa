/** A figure is a ratio of two things measured in turns in the same run: single times say nothing about a noisy machine. */
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
}

/** The ratios of all rounds, by figure. */
export type Ratios = ReadonlyMap<string, readonly number[]>;

export const FIGURES: readonly Figure[] = [
  {
    figure: 'publish-rate',
    about: 'sync publish over a bare echo, requests/s',
    better: 'more',
    bar: 0.2,
    stretch: 0.4,
  },
  {
    figure: 'publish-cpu',
    about: 'sync publish over a bare echo, CPU a request',
    better: 'less',
    bar: 4.5,
    stretch: 2.5,
  },
  { figure: 'sync-over-async', about: 'sync over async publish, requests/s', better: 'more', bar: 0.8, stretch: 0.95 },
  {
    figure: 'bulk-over-single',
    about: 'bulk publish of 500 over single publish, events/s',
    better: 'more',
    bar: 1.5,
    stretch: 3,
  },
  {
    figure: 'list-at-a-million',
    about: 'a page of 50 of one resource, among 1,000,000 events over among 10,000, p50',
    better: 'less',
    bar: 1.5,
    stretch: 1.1,
  },
  { figure: 'svc-version', about: '"svc --version" over "node -e 0", wall time', better: 'less', bar: 4, stretch: 2 },
];

/** With `--cluster`: on Kafka and Elasticsearch. */
export const CLUSTER_FIGURES: readonly Figure[] = [
  {
    figure: 'projector-over-bulk',
    about: 'the projector, Kafka to Elasticsearch, over a bare _bulk replay of the same documents, events/s',
    better: 'more',
    bar: 0.6,
    stretch: 0.85,
  },
  {
    figure: 'batched-over-single-append',
    about: 'appends to the log over one kafkajs send an event, 512 at once, events/s',
    better: 'more',
    bar: 4,
    stretch: 5,
  },
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
