import { join } from 'node:path';
import type { Logger } from 'pino';
import { ConfigError } from '../platform/config/config.js';
import type { AnchorConfig, TlogConfig } from '../platform/config/tlog.js';
import type { Metrics } from '../platform/metrics.js';
import type { Anchor } from '../sealing/anchors/anchor.js';
import { Anchoring } from '../sealing/anchors/anchoring.js';
import { FileAnchor } from '../sealing/anchors/file.js';
import { HttpsAnchor } from '../sealing/anchors/https.js';
import { S3Anchor } from '../sealing/anchors/s3.js';
import { TsaAnchor } from '../sealing/anchors/tsa.js';
import { QUORUM_MS, Witnesses } from '../sealing/witnesses.js';
import { parseVkey } from '../tlog/note.js';
import { type Policy, parsePolicy } from '../tlog/policy.js';
import { FormatInvalid } from '../tlog/text.js';
import { nodesOf } from '../tree-store/tree-nodes.js';
import type { TreeStore } from '../tree-store/tree-store.js';

/** Asks those who must cosign checkpoints. */
export function witnessesOf(policy: Policy, trees: TreeStore, metrics: Metrics, logger: Logger): Witnesses {
  const witnesses = new Witnesses(policy, (size) => nodesOf(trees, 'service', size), logger);
  metrics.gauge(
    'tlog_quorum_missing_seconds',
    'For how long a checkpoint has waited for cosignatures, and is not published; 0 if none waits',
    [],
    (gauge) => gauge.set(witnesses.missingMs / 1000),
  );
  metrics.gauge('tlog_witness_up', '1 if the witness cosigned when it was last asked; else 0', ['witness'], (gauge) => {
    for (const { name, fault } of witnesses.states) gauge.set({ witness: name }, fault === undefined ? 1 : 0);
  });
  return witnesses;
}

/** What `GET /health/ready` warns of. Everybody may read it, so the log alone tells which witness failed, and why. */
export function quorumWarnings({ missingMs }: Pick<Witnesses, 'missingMs'>): string[] {
  if (missingMs < QUORUM_MS) return [];
  const minutes = Math.floor(missingMs / 60_000);
  return [`no checkpoint was published for ${minutes} min: too few witnesses cosign; the log of the process tells why`];
}

/** `newest` is the published checkpoint of the service log, in the process that publishes. */
export function anchoringOf(
  { anchors, anchorIntervalMs }: TlogConfig,
  dataDir: string,
  newest: () => Promise<string | undefined>,
  metrics: Metrics,
  logger: Logger,
): Anchoring {
  const made = anchors.map((anchor) => anchorOf(anchor, dataDir));
  const anchoring = new Anchoring(made, newest, anchorIntervalMs, logger);
  metrics.gauge(
    'tlog_anchored_timestamp_seconds',
    'When the anchor last kept a checkpoint of this process; 0 if it has not',
    ['anchor'],
    (gauge) => {
      for (const { name, keptAt = 0 } of anchoring.states) gauge.set({ anchor: name }, keptAt / 1000);
    },
  );
  return anchoring;
}

/** Who must cosign checkpoints. Throws `ConfigError`, also if the witnesses that can be asked could never be enough. */
export function servicePolicy(text: string): Policy {
  const policy = parsed(text);
  const addressed = policy.witnesses.filter(({ url }) => url !== undefined);
  const faults = addressed.flatMap(({ name, vkey, url = '' }) => {
    if (parseVkey(vkey).type !== COSIGNATURE)
      return `the key of witness ${name} is not one of cosignatures (type 0x04)`;
    const protocol = URL.parse(url)?.protocol;
    return protocol === 'https:' || protocol === 'http:'
      ? []
      : `the URL of witness ${name} is not one of http or https`;
  });
  if (!policy.isMetBy(addressed.map(({ vkey }) => vkey)))
    faults.push(`the quorum ${policy.quorum} cannot be reached: too few of its witnesses have a URL`);
  if (faults.length > 0) throw new ConfigError(faults.map((fault) => `CONTROL_TLOG_POLICY: ${fault}`));
  return policy;
}

const COSIGNATURE = 0x04;

function parsed(text: string): Policy {
  try {
    return parsePolicy(text);
  } catch (error) {
    if (error instanceof FormatInvalid) throw new ConfigError([`CONTROL_TLOG_POLICY: ${error.message}`]);
    throw error;
  }
}

function anchorOf(anchor: AnchorConfig, dataDir: string): Anchor {
  switch (anchor.kind) {
    case 'file':
      return new FileAnchor(anchor.path);
    case 'https':
      return new HttpsAnchor(anchor.url);
    case 's3':
      return new S3Anchor(anchor);
    case 'tsa':
      return new TsaAnchor(anchor.url, join(dataDir, 'timestamps'));
  }
}
