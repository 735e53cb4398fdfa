import { existsSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Logger } from 'pino';
import type { Jobs } from '../commands/upkeep-jobs.js';
import type { ControlState } from '../control/state.js';
import type { EventLog } from '../event-log/event-log.js';
import type { Clock } from '../platform/clock.js';
import type { Config } from '../platform/config/config.js';
import { type Metrics, setOrOmit } from '../platform/metrics.js';
import { writePrivate } from '../platform/private-file.js';
import { pause } from '../platform/waiting.js';
import type { CheckReport } from '../sealing/check.js';
import { FollowedHistory } from '../sealing/followed-history.js';
import { NotesFile } from '../sealing/kept-notes.js';
import type { KnownHistory } from '../sealing/known-history.js';
import { LoggedNotes } from '../sealing/logged-notes.js';
import { Sealer } from '../sealing/sealer.js';
import { SigningKeys } from '../sealing/signing-keys.js';
import type { ReadTlogStatus } from '../sealing/status.js';
import { SealingRefused } from '../sealing/term.js';
import { NoteSigner } from '../tlog/note.js';
import type { TreeStore } from '../tree-store/tree-store.js';
import { notesFile, signingKeyFile } from './kept-secrets.js';
import type { Store } from './store.js';
import { tlogStatusOf } from './tlog-status.js';
import { anchoringOf, quorumWarnings, servicePolicy, witnessesOf } from './witnessing.js';

export interface Sealing {
  /** What reads need. */
  readonly history: KnownHistory;
  /** Resolves when the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Takes what a check of the trees found: after a divergence nothing is signed until a check passes, or until the next start. */
  checked(report: Pick<CheckReport, 'divergence'>): void;
  readonly status: ReadTlogStatus;
  /** What an operator should know; empty if all is well. Names no organization. */
  warnings(): string[];
}

/**
 * What seals the log, and what reads know of it. On the embedded store these are one. In a cluster every process follows what
 * one of them seals: one with the role `projector` and the key that signs. Throws `ConfigError`.
 */
export function sealingOf(
  config: Config,
  store: Store,
  state: ControlState,
  jobs: Pick<Jobs, 'state'>,
  clock: Clock,
  metrics: Metrics,
  logger: Logger,
): Sealing {
  const { cluster, dataDir, roles, tlog } = config;
  const { log, trees, sharedTrees } = store;
  const keyFile = tlog.keyFile ?? (cluster ? undefined : signingKeyFile(dataDir));
  const isSealer = roles.has('projector') && keyFile !== undefined;
  const policy = tlog.policy === undefined ? undefined : servicePolicy(tlog.policy);
  const witnesses = isSealer && policy ? witnessesOf(policy, trees, metrics, logger) : undefined;
  const sealer = isSealer
    ? new Sealer({
        ...{ log, store: trees, snapshots: state, skipped: state.skipped, clock, logger },
        kept: cluster ? new LoggedNotes(log, trees) : new NotesFile(notesFile(dataDir)),
        cosigner: witnesses,
        keys: (origin, isFirst) => keptKeys(keyFile, origin, isFirst && !cluster),
        intervalMs: tlog.intervalMs,
        origin: tlog.origin,
      })
    : undefined;
  if (!sealer && roles.has('projector')) {
    logger.warn('this process does not seal the log: CONTROL_CHECKPOINT_KEY_FILE does not name the key that signs');
  }
  const followed = sharedTrees && new FollowedHistory({ log, store: sharedTrees, origin: tlog.origin, clock, logger });
  const history = followed ?? sealer;
  if (!history) throw new Error('the embedded store always seals');
  addGauges(metrics, log, history, sealer);
  const checked = ({ divergence }: Pick<CheckReport, 'divergence'>) => {
    const found = divergence === null ? undefined : FOUND;
    if (found === undefined) sealer?.resume();
    else sealer?.halt(found);
    if (followed) followed.refusal = found;
  };
  const checks = cluster && { run: (signal: AbortSignal) => followChecks(jobs, checked, signal) };
  const anchoring = sealer && anchoringFor(sealer, trees, config, metrics, logger);
  const loops = [followed, sealer, anchoring, checks];
  return {
    history,
    run: async (signal) => {
      await Promise.all(loops.map((loop) => loop?.run(signal)));
    },
    checked,
    status: () => tlogStatusOf({ log, history, policy, sealer, witnesses, anchoring }),
    warnings: () => {
      const { diverged = history.refusal, stalled, failing } = sealer?.status ?? {};
      return [
        ...(diverged === undefined ? [] : [`no checkpoint is signed any more: ${diverged}`]),
        ...(stalled === undefined ? [] : [`a part of the log is not sealed: ${stalled}`]),
        ...(failing === undefined ? [] : [`the log is not sealed at the moment: ${failing}`]),
        ...(witnesses ? quorumWarnings(witnesses) : []),
      ];
    },
  };
}

/** Names no organization: the report does, for operators. */
const FOUND = 'svc tlog check found that the log is not as it was sealed; its report says where';
const LOOK_MS = 2_000;

/** Takes what checks find that end from now on, in whichever process. Resolves when the signal aborts. */
async function followChecks(
  jobs: Pick<Jobs, 'state'>,
  checked: Sealing['checked'],
  signal: AbortSignal,
): Promise<void> {
  for (let known: string | undefined; !signal.aborted; ) {
    const job = await jobs.state('tlog-check').catch(() => undefined);
    if (job?.state === 'done' && known !== undefined && known !== job.id) checked(job.report as CheckReport);
    if (job && job.state !== 'running') known = 'id' in job ? job.id : '';
    else if (job) known ??= '';
    await pause(LOOK_MS, signal, { ref: false });
  }
}

function anchoringFor(sealer: Sealer, trees: TreeStore, { dataDir, tlog }: Config, metrics: Metrics, logger: Logger) {
  const newest = async () => (sealer.status.leads ? (await trees.published('service'))?.note : undefined);
  return anchoringOf(tlog, dataDir, newest, metrics, logger);
}

function addGauges(metrics: Metrics, log: EventLog, history: KnownHistory, sealer: Sealer | undefined): void {
  metrics.gauge('tlog_lag_seconds', 'Age of the oldest record that no published checkpoint covers', [], (gauge) =>
    setOrOmit(gauge, {}, async () => {
      const heads = { audit: await log.head('audit'), control: await log.head('control') };
      return history.lagMs(heads) / 1000;
    }),
  );
  metrics.gauge(
    'tlog_diverged',
    '1 if the log is not as it was sealed, so that nothing is signed any more',
    [],
    (gauge) => {
      gauge.set((sealer?.refusal ?? history.refusal) === undefined ? 0 : 1);
    },
  );
}

/** The keys in the file. If there are none, one may be made, readable only by its owner. Throws `SealingRefused`. */
export function keptKeys(file: string, origin: string, mayMake: boolean): SigningKeys {
  if (!existsSync(file)) {
    if (!mayMake)
      throw new SealingRefused(
        `${basename(file)} is missing: put the key back that signed the checkpoints before; if it is lost, begin a new epoch with another: npm run restore -- --new-epoch "reason"`,
      );
    writePrivate(file, new SigningKeys(NoteSigner.generate(origin)).toText());
  }
  try {
    return SigningKeys.parse(readFileSync(file, 'utf8'), origin);
  } catch (cause) {
    throw new SealingRefused(`${basename(file)} cannot be used: ${(cause as Error).message}`, { cause });
  }
}
