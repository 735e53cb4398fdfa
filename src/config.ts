import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';

export interface Config {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  /** Undefined: made and kept in the data folder. */
  readonly rootKey: string | undefined;
  /** How long a sync publish waits until its event is searchable. */
  readonly syncTimeoutMs: number;
  readonly store: 'embedded';
  readonly roles: ReadonlySet<Role>;
  /** Addresses or CIDR ranges whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[];
  /** Requests a second that one organization may send to this process; 0 for no limit. */
  readonly rateLimit: number;
  readonly logLevel: LogLevel;
}

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
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const faults: string[] = [];
  const text = (name: string, otherwise: string) => env[name] || otherwise;
  const whole = (name: string, otherwise: number, least: number, most: number) => {
    const value = Number(text(name, String(otherwise)));
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    faults.push(`${name}: must be a whole number from ${least} to ${most}`);
    return otherwise;
  };
  const oneOf = <Value extends string>(name: string, values: readonly Value[], otherwise: Value): Value => {
    const value = text(name, otherwise);
    if ((values as readonly string[]).includes(value)) return value as Value;
    faults.push(`${name}: must be one of ${values.join(', ')}`);
    return otherwise;
  };
  const list = (name: string, otherwise: string) =>
    text(name, otherwise)
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean);

  const roles = new Set(list('CONTROL_ROLES', ROLES.join(',')) as Role[]);
  for (const role of roles)
    if (!ROLES.includes(role)) faults.push(`CONTROL_ROLES: may list ${ROLES.join(' and ')} only`);
  const store = oneOf('CONTROL_STORE', ['embedded'], 'embedded');
  if (store === 'embedded' && roles.size < ROLES.length) {
    faults.push('CONTROL_ROLES: the embedded store is one process, so it needs both roles, api,projector');
  }
  const rootKey = env.CONTROL_ROOT_KEY || undefined;
  if (rootKey !== undefined && !/^[\x21-\x7e]+$/.test(rootKey)) {
    faults.push('CONTROL_ROOT_KEY: may have visible ASCII characters only, since it travels in a header');
  }
  const config: Config = {
    host: text('CONTROL_HOST', '127.0.0.1'),
    port: whole('CONTROL_PORT', 8080, 0, 65_535),
    dataDir: text('CONTROL_DATA_DIR', './data'),
    rootKey,
    syncTimeoutMs: whole('CONTROL_SYNC_TIMEOUT_MS', 5_000, 0, 600_000),
    store,
    roles,
    trustedProxies: list('CONTROL_TRUSTED_PROXIES', ''),
    rateLimit: whole('CONTROL_RATE_LIMIT', 0, 0, 1_000_000),
    logLevel: oneOf('CONTROL_LOG_LEVEL', LOG_LEVELS, 'info'),
  };
  const bad = config.trustedProxies.filter((range) => !isAddressRange(range));
  if (bad.length > 0)
    faults.push('CONTROL_TRUSTED_PROXIES: must list IP addresses or CIDR ranges, separated by commas');
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
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
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;
}
