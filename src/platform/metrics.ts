import { Counter, Gauge, Histogram, type LabelValues, Registry, register } from 'prom-client';
import type { ErrorCode } from '../contract/errors.js';
import { within } from './waiting.js';

/** From half a millisecond, an fsync on a fast disk, to the longest wait. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** A value that takes longer is left out, so that a scrape returns the others in time. */
export const SCRAPE_MS = 2_000;

export type PublishOutcome = 'searchable' | 'recorded' | ErrorCode;

/**
 * What the process counts, in Prometheus' terms. Labels have few values, all of them this program's own: no text of a
 * caller, no name of an organization and no key ever becomes one.
 */
export class Metrics {
  private readonly registry = new Registry();
  private readonly publishes = this.counter('publishes_total', 'Events by mode and what became of them', [
    'mode',
    'outcome',
  ]);
  private readonly rejections = this.counter('rejections_total', 'Refused requests by error code', ['code']);
  private readonly cut = this.counter(
    'connections_cut_total',
    'Connections refused, or given up for a new one, because there were too many in all or from one address',
    ['outcome', 'bound'],
  );
  private readonly outcomes = this.counter(
    'projection_outcomes_total',
    'Records that did not become a document of their own: duplicate, conflict or dead_lettered',
    ['topic', 'code'],
  );
  private readonly retries = this.counter('projection_retries_total', 'Writes to the read model tried again', [
    'topic',
  ]);
  private readonly denied = this.counter(
    'denied_attempts_unrecorded_total',
    'Denied attempts that were not recorded: too many at once, or the log was away',
    [],
  );
  private readonly guesses = this.counter(
    'guesses_total',
    'Unknown keys and wrong invitation codes, and whether the answer was the refusal or 429',
    ['guessed', 'answer'],
  );
  private readonly uses = this.counter('security_events_total', 'Recorded uses of data, by action', ['action']);
  private readonly expired = this.counter('expired_documents_total', 'Documents removed because they expired', []);
  private readonly unlike = new Gauge({
    name: 'control_reconcile_differences',
    help: 'Documents that were not as the log says, at the last reconciliation that this process finished',
    labelNames: ['problem'],
    registers: [this.registry],
  });
  private readonly lastReconciled = new Gauge({
    name: 'control_reconcile_last_run_timestamp_seconds',
    help: 'When this process last finished a reconciliation; 0 before the first',
    registers: [this.registry],
  });
  private readonly appends = this.histogram('append_seconds', 'From handing events to the log until they are durable');
  private readonly syncWaits = this.histogram('sync_wait_seconds', 'From durable until searchable, for sync publishes');

  published(mode: 'sync' | 'async', outcome: PublishOutcome, events: number): void {
    this.publishes.inc({ mode, outcome }, events);
  }

  rejected(code: ErrorCode): void {
    this.rejections.inc({ code });
  }

  connectionCut(outcome: 'refused' | 'given_up', bound: 'all' | 'address'): void {
    this.cut.inc({ outcome, bound });
  }

  projected(topic: string, code: 'duplicate' | 'conflict' | 'dead_lettered'): void {
    this.outcomes.inc({ topic, code });
  }

  retried(topic: string): void {
    this.retries.inc({ topic });
  }

  deniedUnrecorded(): void {
    this.denied.inc();
  }

  guessed(guessed: 'key' | 'code', answer: 'refused' | 'throttled'): void {
    this.guesses.inc({ guessed, answer });
  }

  securityEvent(action: string): void {
    this.uses.inc({ action });
  }

  swept(removed: number): void {
    this.expired.inc(removed);
  }

  /** `differences`: how many by problem; `now` in milliseconds. */
  reconciled(differences: Readonly<Record<string, number>>, now: number): void {
    for (const [problem, count] of Object.entries(differences)) this.unlike.set({ problem }, count);
    this.lastReconciled.set(now / 1000);
  }

  /** Measures from `start` (`performance.now()`) to now. */
  appended(start: number): void {
    this.appends.observe((performance.now() - start) / 1000);
  }

  waited(start: number): void {
    this.syncWaits.observe((performance.now() - start) / 1000);
  }

  /** A value that is read when it is asked for, by the labels that `read` sets. */
  gauge(name: string, help: string, labelNames: readonly string[], read: (gauge: Gauge) => void | Promise<void>): void {
    const gauge: Gauge = new Gauge({
      name: `control_${name}`,
      help,
      labelNames: [...labelNames],
      registers: [this.registry],
      collect: () => read(gauge),
    });
  }

  /** The text exposition format; with the metrics of the process itself, if `main.ts` collects them. */
  exposition(): Promise<string> {
    return Registry.merge([this.registry, register]).metrics();
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  private counter<Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label> {
    return new Counter({ name: `control_${name}`, help, labelNames: [...labelNames], registers: [this.registry] });
  }

  private histogram(name: string, help: string): Histogram {
    return new Histogram({ name: `control_${name}`, help, buckets: SECONDS, registers: [this.registry] });
  }
}

/** A gauge that cannot be read at the moment, or not in time, has no value, and does not fail the others. */
export async function setOrOmit(gauge: Gauge, labels: LabelValues<string>, read: () => Promise<number>): Promise<void> {
  const value = await within(SCRAPE_MS, read(), undefined).catch(() => undefined);
  if (value === undefined) gauge.remove(labels);
  else gauge.set(labels, value);
}
