import { isAbsolute } from 'node:path';
import type { Env } from '../env.js';

/** How the log is sealed. */
export interface TlogConfig {
  /** How long a record waits for its cut. */
  readonly intervalMs: number;
  /** First part of the names of all trees; undefined: made of the identifier of the log. */
  readonly origin: string | undefined;
  /** With the key that signs checkpoints; undefined: `checkpoint.key` in the data folder. In a cluster: it does not seal then. */
  readonly keyFile: string | undefined;
  /** Whether everybody may read the service log. */
  readonly isPublic: boolean;
  /** Text of `CONTROL_TLOG_POLICY`, a C2SP tlog-policy; undefined: no witnesses. */
  readonly policy: string | undefined;
  readonly anchors: readonly AnchorConfig[];
  /** How often an anchor gets a checkpoint, at most. */
  readonly anchorIntervalMs: number;
}

export type AnchorConfig =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'https' | 'tsa'; readonly url: URL }
  | {
      readonly kind: 's3';
      readonly bucket: string;
      readonly prefix: string;
      readonly region: string;
      readonly endpoint: string | undefined;
      readonly days: number;
      readonly credentials: {
        readonly accessKeyId: string;
        readonly secretAccessKey: string;
        readonly sessionToken: string | undefined;
      };
    };

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

const FORMS =
  'must list anchors, separated by commas: file:/path, https://host/path, tsa:https://host/path, s3://bucket/prefix?region=R';

/** Ten years. */
const USUAL_DAYS = 3_650;

/** A host name, perhaps with a path: it is a part of names that C2SP formats allow. */
const ORIGIN = /^[a-z0-9][a-z0-9.-]{0,252}(\/[A-Za-z0-9._-]{1,63}){0,3}$/;

export function readTlog(env: Env, isCluster: boolean): TlogConfig {
  const origin = env.optional('CONTROL_TLOG_ORIGIN');
  if (origin !== undefined && !ORIGIN.test(origin)) {
    env.fault('CONTROL_TLOG_ORIGIN', 'must be a host name in lower case, such as audit.example.com');
  }
  // The embedded store makes it.
  if (isCluster) env.file('CONTROL_CHECKPOINT_KEY_FILE');
  return {
    intervalMs: env.whole('CONTROL_TLOG_INTERVAL_MS', 5_000, 100, 3_600_000),
    origin,
    keyFile: env.optional('CONTROL_CHECKPOINT_KEY_FILE'),
    isPublic: env.oneOf('CONTROL_TLOG_PUBLIC', ['true', 'false'], 'false') === 'true',
    policy: env.file('CONTROL_TLOG_POLICY'),
    anchors: readAnchors(env),
    anchorIntervalMs: env.whole('CONTROL_ANCHOR_INTERVAL_MS', 3_600_000, 1_000, 31_536_000_000),
  };
}

/** Their addresses may have secrets, so they may come from a file. */
function readAnchors(env: Env): AnchorConfig[] {
  const texts = (env.secret('CONTROL_ANCHORS') ?? '').split(/[,\n]/).map((text) => text.trim());
  return texts.filter(Boolean).flatMap((text) => {
    const anchor = text.startsWith('s3:') ? s3Anchor(env, text) : plainAnchor(env, text);
    return anchor ?? [];
  });
}

function plainAnchor(env: Env, text: string): AnchorConfig | undefined {
  const [, kind = '', rest = ''] = /^(file|tsa):(?!\/\/)(.+)$/.exec(text) ?? [];
  if (kind === 'file' && isAbsolute(rest)) return { kind, path: rest };
  const url = URL.parse(kind === 'tsa' ? rest : text);
  // The answer of a timestamp authority is signed; who takes checkpoints by HTTP must be known.
  const isOpen = url?.protocol === 'http:' && (kind === 'tsa' || LOOPBACK.includes(url.hostname));
  if (kind !== 'file' && url && (url.protocol === 'https:' || isOpen))
    return { kind: kind === 'tsa' ? kind : 'https', url };
  env.fault('CONTROL_ANCHORS', FORMS);
  return undefined;
}

function s3Anchor(env: Env, text: string): AnchorConfig | undefined {
  const url = URL.parse(text);
  const [region, endpoint, days] = ['region', 'endpoint', 'days'].map(
    (name) => url?.searchParams.get(name) ?? undefined,
  );
  const known = region ?? env.optional('AWS_REGION');
  const [accessKeyId, secretAccessKey] = [env.optional('AWS_ACCESS_KEY_ID'), env.secret('AWS_SECRET_ACCESS_KEY')];
  const kept = Number(days ?? USUAL_DAYS);
  if (!url || !/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.hostname) || !(Number.isInteger(kept) && kept > 0)) {
    env.fault('CONTROL_ANCHORS', FORMS);
  } else if (endpoint !== undefined && !isOrigin(endpoint)) {
    env.fault('CONTROL_ANCHORS', 'the endpoint of an s3 anchor must be an address such as https://s3.example.com');
  } else if (known === undefined) {
    env.fault('CONTROL_ANCHORS', 'an s3 anchor needs ?region=, or AWS_REGION');
  } else if (accessKeyId === undefined || secretAccessKey === undefined) {
    env.fault('CONTROL_ANCHORS', 'an s3 anchor needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
  } else {
    const prefix = url.pathname.replace(/^\/+|\/+$/g, '');
    return {
      kind: 's3',
      bucket: url.hostname,
      prefix: prefix === '' ? '' : `${decodeURIComponent(prefix)}/`,
      ...{ region: known, endpoint, days: kept },
      credentials: { accessKeyId, secretAccessKey, sessionToken: env.secret('AWS_SESSION_TOKEN') },
    };
  }
  return undefined;
}

function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  return (url?.protocol === 'https:' || url?.protocol === 'http:') && `${url.origin}/` === url.href;
}
