import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import { type MailLimits, QUOTA_KINDS, QUOTAS, type Quotas } from '../../contract/limits.js';
import { Env } from '../env.js';
import { MIB, memoryLimit } from '../memory.js';
import { LEAST_SECRET_BITS, MAKE_A_SECRET, secretBits } from '../secret-strength.js';
import { type ClusterConfig, readClusterConfig } from './cluster.js';
import { readTlog, type TlogConfig } from './tlog.js';

export interface Config {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  /** Undefined: made and kept in the data folder. */
  readonly rootKey: string | undefined;
  /** What issued keys and cursors are derived from. Undefined: made and kept in the data folder. */
  readonly secret: string | undefined;
  /** How long a sync publish waits until its event is searchable. */
  readonly syncTimeoutMs: number;
  /** How long a process that was asked to stop works on, not ready, so that balancers pass it over before it stops. */
  readonly drainMs: number;
  /** Kafka and Elasticsearch; undefined: the embedded store in the data folder. */
  readonly cluster: ClusterConfig | undefined;
  readonly roles: ReadonlySet<Role>;
  /** Addresses or CIDR ranges whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[];
  /** Origins of the web pages that may call the API; `*` for any, none for no CORS. */
  readonly corsOrigins: readonly string[];
  /** Requests a second that one organization may send to this process; 0 for no limit. */
  readonly rateLimit: number;
  /** The longest life of a key that is issued, in days; undefined: no limit. */
  readonly keyMaxDays: number | undefined;
  /** Reads of one organization that may be large, at once in this process; the others wait. */
  readonly readsPerOrg: number;
  /** Bytes that this process may take; what is under way at once is a share of it. */
  readonly memory: number;
  /** How long one request may hold the event loop that all organizations share; it holds it in slices. */
  readonly requestBudgetMs: number;
  /** Unknown keys and wrong invitation codes a minute that one address may send to this process; 0 for no limit. */
  readonly badKeysPerMinute: number;
  readonly quotas: Quotas;
  /** Connections in all, and from one address; fewer in all where the process may not open so many files. */
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  /** Undefined: plain HTTP. */
  readonly tls: TlsConfig | undefined;
  readonly logLevel: LogLevel;
  /** Where invitations are sent from; undefined: their codes are written to the log. */
  readonly smtp: SmtpConfig | undefined;
  readonly mail: MailLimits;
  readonly tlog: TlogConfig;
}

/** Under this token Nest injects the `Config`. */
export const CONFIG = Symbol('Config');

export interface SmtpConfig {
  readonly host: string;
  /** Undefined: 465 with TLS from the start, else 587. */
  readonly port: number | undefined;
  /** TLS from the start; otherwise as soon as the server offers it, and before a password is sent. */
  readonly secure: boolean;
  readonly auth: { readonly user: string; readonly pass: string } | undefined;
  readonly from: { readonly name: string; readonly address: string };
}

export interface TlsConfig {
  readonly certFile: string;
  readonly keyFile: string;
  /** PEM, as the files had it at the start; the certificate may be followed by those of its issuers. */
  readonly cert: string;
  readonly key: string;
}

const STORES = ['embedded', 'cluster'] as const;
type Store = (typeof STORES)[number];

const ROLES = ['api', 'projector'] as const;
type Role = (typeof ROLES)[number];

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

/** Every fault of the environment at once, one a line; values are not repeated, since one may be a secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly faults: readonly string[]) {
    super(`the configuration has faults:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
  }
}

/** Reads the environment. An empty variable counts as absent. Throws `ConfigError`. */
export function readConfig(variables: Readonly<Record<string, string | undefined>>): Config {
  const env = new Env(variables);
  const store = env.oneOf('CONTROL_STORE', STORES, 'embedded');
  const roles = readRoles(env, store);
  const config: Config = {
    host: env.text('CONTROL_HOST', '127.0.0.1'),
    port: env.whole('CONTROL_PORT', 8080, 0, 65_535),
    dataDir: env.text('CONTROL_DATA_DIR', './data'),
    rootKey: readSecret(env, 'CONTROL_ROOT_KEY', store),
    secret: readSecret(env, 'CONTROL_SECRET', store),
    syncTimeoutMs: env.whole('CONTROL_SYNC_TIMEOUT_MS', 5_000, 0, 600_000),
    drainMs: env.whole('CONTROL_DRAIN_MS', store === 'cluster' && roles.has('api') ? 5_000 : 0, 0, 600_000),
    cluster: store === 'cluster' ? readClusterConfig(env) : undefined,
    roles,
    trustedProxies: env.list('CONTROL_TRUSTED_PROXIES'),
    corsOrigins: env.list('CONTROL_CORS_ORIGINS'),
    rateLimit: env.whole('CONTROL_RATE_LIMIT', 0, 0, 1_000_000),
    keyMaxDays: env.whole('CONTROL_KEY_MAX_DAYS', 0, 0, 36_500) || undefined,
    readsPerOrg: env.whole('CONTROL_READS_PER_ORG', 8, 1, 1_000),
    memory: readMemory(env),
    requestBudgetMs: env.whole('CONTROL_REQUEST_BUDGET_MS', 10_000, 1, 600_000),
    badKeysPerMinute: env.whole('CONTROL_BAD_KEYS_PER_MINUTE', 300, 0, 1_000_000),
    quotas: readQuotas(env),
    maxConnections: env.whole('CONTROL_MAX_CONNECTIONS', 10_000, 1, 1_000_000),
    maxConnectionsPerAddress: env.whole('CONTROL_MAX_CONNECTIONS_PER_ADDRESS', 1_000, 1, 1_000_000),
    tls: readTls(env),
    logLevel: env.oneOf('CONTROL_LOG_LEVEL', LOG_LEVELS, 'info'),
    smtp: readSmtp(env),
    mail: {
      perAddress: env.whole('CONTROL_MAIL_PER_ADDRESS', 5, 1, 1_000_000),
      perOrg: env.whole('CONTROL_MAIL_PER_ORG', 100, 1, 1_000_000),
    },
    tlog: readTlog(env, store === 'cluster'),
  };
  if (!config.trustedProxies.every(isAddressRange)) {
    env.fault('CONTROL_TRUSTED_PROXIES', 'must list IP addresses or CIDR ranges, separated by commas');
  }
  if (!config.corsOrigins.every((origin) => origin === '*' || URL.parse(origin)?.origin === origin)) {
    env.fault(
      'CONTROL_CORS_ORIGINS',
      'must list origins such as https://console.example.com, separated by commas, or be *',
    );
  }
  if (env.faults.length > 0) throw new ConfigError(env.faults);
  return config;
}

function readRoles(env: Env, store: Store): ReadonlySet<Role> {
  const roles = new Set(env.list('CONTROL_ROLES', ROLES.join(',')) as Role[]);
  for (const role of roles) {
    if (!ROLES.includes(role)) env.fault('CONTROL_ROLES', `may list ${ROLES.join(' and ')} only`);
  }
  if (store === 'embedded' && roles.size < ROLES.length) {
    env.fault('CONTROL_ROLES', 'the embedded store is one process, so it needs both roles, api,projector');
  }
  return roles;
}

/** A secret from the variable, or from the file that `<name>_FILE` names; the embedded store makes its own. */
function readSecret(env: Env, name: 'CONTROL_ROOT_KEY' | 'CONTROL_SECRET', store: Store): string | undefined {
  const file = `${name}_FILE`;
  const [given, inFile] = [env.optional(name), env.file(file)?.trim()];
  const secret = given ?? inFile;
  if (given !== undefined && inFile !== undefined) env.fault(name, `may not be set beside ${file}; keep one of them`);
  if (inFile === '') env.fault(file, `the file is empty; ${MAKE_A_SECRET}`);
  if (secret) checkSecret(env, given === undefined ? file : name, secret);
  if (secret === undefined && store === 'cluster' && env.optional(file) === undefined) {
    env.fault(name, `must be set, or ${file}, the same for all processes of a cluster; ${MAKE_A_SECRET}`);
  }
  return secret || undefined;
}

function checkSecret(env: Env, name: string, secret: string): void {
  if (!/^[\x21-\x7e]+$/.test(secret)) {
    env.fault(name, 'may have visible ASCII characters only, since it travels in a header');
  } else if (secretBits(secret) < LEAST_SECRET_BITS) {
    env.fault(name, `can be guessed: it has fewer than ${LEAST_SECRET_BITS} bits; ${MAKE_A_SECRET}`);
  }
}

/** `smtp://` or `smtps://`, with user and password where the server wants them, and the sender. */
function readSmtp(env: Env): SmtpConfig | undefined {
  const text = env.secret('CONTROL_SMTP_URL');
  const sender = env.optional('CONTROL_SMTP_FROM');
  if (text === undefined && sender === undefined) return undefined;
  const server = text === undefined ? undefined : smtpServer(text);
  const from = sender === undefined ? undefined : smtpSender(sender);
  if (!server) env.fault('CONTROL_SMTP_URL', 'must be a URL such as smtp://user:password@mail.example.com:587');
  if (!from) env.fault('CONTROL_SMTP_FROM', 'must be an address such as Acme <no-reply@example.com>');
  return server && from && { ...server, from };
}

function smtpServer(text: string): Omit<SmtpConfig, 'from'> | undefined {
  const url = URL.parse(text);
  if (!url || !['smtp:', 'smtps:'].includes(url.protocol) || url.hostname === '') return undefined;
  if (!['', '/'].includes(url.pathname) || url.search !== '' || url.hash !== '') return undefined;
  try {
    const [user, pass] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
    return {
      host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: url.port === '' ? undefined : Number(url.port),
      secure: url.protocol === 'smtps:',
      auth: user === '' ? undefined : { user, pass },
    };
  } catch {
    return undefined;
  }
}

/** `Name <address>`, or the address alone. */
function smtpSender(text: string): SmtpConfig['from'] | undefined {
  const [, name = '', address = ''] = /^(?:([^<>"\p{Cc}]*)<)?([^\s<>@,]+@[^\s<>@,]+)>?$/u.exec(text) ?? [];
  return address === '' || text.endsWith('>') !== text.includes('<') ? undefined : { name: name.trim(), address };
}

function isAddressRange(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const version = isIP(address);
  const bits = prefix === undefined ? 0 : Number(prefix);
  return (
    version > 0 &&
    rest.length === 0 &&
    prefix !== '' &&
    Number.isInteger(bits) &&
    bits >= 0 &&
    bits <= (version === 4 ? 32 : 128)
  );
}

/** The version in the package's own description. */
export function packageVersion(): string {
  return JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')).version;
}

const LEAST_MEMORY_MIB = 256;
const MOST_MEMORY_MIB = 1_048_576;

/** If it is not set, as much as the container and the heap allow. */
function readMemory(env: Env): number {
  const allowed = Math.min(MOST_MEMORY_MIB, Math.max(LEAST_MEMORY_MIB, Math.floor(memoryLimit() / MIB)));
  return env.whole('CONTROL_MEMORY_MIB', allowed, LEAST_MEMORY_MIB, MOST_MEMORY_MIB) * MIB;
}

/** Of resources of one kind. */
const MOST_QUOTA = 10_000_000;

function readQuotas(env: Env): Quotas {
  const read = QUOTA_KINDS.map((kind) => {
    const { setting, usual } = QUOTAS[kind];
    return [kind, env.whole(setting, usual, 1, MOST_QUOTA)];
  });
  return Object.fromEntries(read) as Quotas;
}

/** Undefined without TLS. */
function readTls(env: Env): TlsConfig | undefined {
  const [certName, keyName] = ['CONTROL_TLS_CERT_FILE', 'CONTROL_TLS_KEY_FILE'];
  const [certFile, keyFile] = [env.optional(certName), env.optional(keyName)];
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined) env.fault(certName, `must be set beside ${keyName}`);
  if (keyFile === undefined) env.fault(keyName, `must be set beside ${certName}`);
  const [cert, key] = [env.file(certName), env.file(keyName)];
  if (certFile === undefined || keyFile === undefined || cert === undefined || key === undefined) return undefined;
  const fault = tlsFault(cert, key);
  if (fault !== undefined) env.fault(certName, fault);
  return { certFile, keyFile, cert, key };
}

/** Why the two cannot be used together, or undefined. Names nothing of what is in them. */
export function tlsFault(cert: string, key: string): string | undefined {
  try {
    createSecureContext({ cert, key });
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return `no certificate and private key in PEM, without a passphrase, that belong together (${code ?? 'unknown'})`;
  }
}
