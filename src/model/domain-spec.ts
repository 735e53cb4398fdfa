/** How traffic for a host name is taken and where it goes, with every default filled in. Recorded, not provisioned. */
export interface DomainSpec extends Omit<SentDomainSpec, 'dnsMode' | 'ports'> {
  readonly dnsMode: DnsMode;
  readonly ports: readonly Port[];
}

/** A specification as a client may send it: with its gaps, and cipher suites in an array within the array. */
export interface SentDomainSpec {
  readonly dnsMode?: DnsMode;
  /** Where several links are there: a route's own workloadLink, then the specification's workloadLink, then gvcLink. */
  readonly gvcLink?: string;
  readonly workloadLink?: string;
  readonly certChallengeType?: 'http01' | 'dns01';
  /** Prevails over acceptAllSubdomains. */
  readonly acceptAllHosts?: boolean;
  readonly acceptAllSubdomains?: boolean;
  readonly ports?: readonly SentPort[];
}

export const DNS_MODES = ['cname', 'ns'] as const;
type DnsMode = (typeof DNS_MODES)[number];

export const CHALLENGE_TYPES = ['http01', 'dns01'] as const;

export const PROTOCOLS = ['http', 'http2', 'tcp'] as const;
type Protocol = (typeof PROTOCOLS)[number];

interface SentPort {
  readonly number: number;
  readonly protocol?: Protocol;
  readonly routes?: readonly Route[];
  readonly cors?: Cors;
  readonly tls?: SentTls;
}

interface Port extends Omit<SentPort, 'tls'> {
  readonly protocol: Protocol;
  readonly tls?: Tls;
}

interface Route {
  /** `/` where neither this nor `regex` is there. */
  readonly prefix?: string;
  /** Takes the place of `prefix`; without effect where `regex` decides. */
  readonly replacePrefix?: string;
  /** Prevails over `prefix`. */
  readonly regex?: string;
  readonly hostPrefix?: string;
  /** Prevails over `hostPrefix`. */
  readonly hostRegex?: string;
  readonly workloadLink?: string;
  readonly port?: number;
  readonly replica?: number;
  readonly headers?: { readonly request?: { readonly set?: Readonly<Record<string, string>> } };
}

interface Cors {
  /** Of an origin, `exact` prevails over `regex`. */
  readonly allowOrigins?: readonly { readonly exact?: string; readonly regex?: string }[];
  readonly allowMethods?: readonly string[];
  readonly allowHeaders?: readonly string[];
  readonly exposeHeaders?: readonly string[];
  readonly maxAge?: string;
  readonly allowCredentials?: boolean;
}

export const TLS_VERSIONS = ['TLSV1_0', 'TLSV1_1', 'TLSV1_2', 'TLSV1_3'] as const;
type TlsVersion = (typeof TLS_VERSIONS)[number];

interface SentTls {
  readonly minProtocolVersion?: TlsVersion;
  readonly cipherSuites?: readonly (Cipher | readonly Cipher[])[];
  readonly clientCertificate?: { readonly secretLink?: string };
  readonly serverCertificate?: { readonly secretLink?: string };
}

interface Tls extends SentTls {
  readonly minProtocolVersion: TlsVersion;
  readonly cipherSuites: readonly Cipher[];
}

export const CIPHERS = [
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-RSA-CHACHA20-POLY1305',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'AES256-GCM-SHA384',
  'AES128-GCM-SHA256',
] as const;
type Cipher = (typeof CIPHERS)[number];

const DEFAULT_PORTS: readonly SentPort[] = [{ number: 443 }];
const DEFAULT_MAX_AGE = '24h';

/** The specification with its defaults, as every response shows it. Idempotent. */
export function completedSpec({ ports = DEFAULT_PORTS, ...spec }: SentDomainSpec): DomainSpec {
  return { dnsMode: 'cname', ...spec, ports: ports.map(completedPort) };
}

function completedPort({ routes, cors, tls, ...port }: SentPort): Port {
  return {
    protocol: 'http2',
    ...port,
    ...(routes && { routes: routes.map(completedRoute) }),
    ...(cors && { cors: completedCors(cors) }),
    ...(tls && { tls: completedTls(tls) }),
  };
}

function completedRoute(route: Route): Route {
  return route.regex === undefined ? { prefix: '/', ...route } : route;
}

function completedCors({ allowMethods, ...cors }: Cors): Cors {
  const methods = allowMethods && { allowMethods: allowMethods.map((method) => method.toUpperCase()) };
  return { maxAge: DEFAULT_MAX_AGE, ...cors, ...methods };
}

function completedTls({ cipherSuites = CIPHERS, ...tls }: SentTls): Tls {
  return { minProtocolVersion: 'TLSV1_2', ...tls, cipherSuites: [...new Set(cipherSuites.flat())] };
}

const SEGMENT = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+";
const LINK = new RegExp(`^(?:/org/${SEGMENT}|/)(?:/${SEGMENT})+$`);

/**
 * A link to something of the platform, `/org/{org}/...`, or `//...` for the organization at hand: path segments of
 * RFC 3986, none of them `.` or `..`. What it leads to is neither looked up nor fetched.
 */
export function isPlatformLink(text: string): boolean {
  return LINK.test(text) && !text.split('/').some((segment) => segment === '.' || segment === '..');
}

const DURATION = /^(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;

/** A duration as Go writes it, not negative: numbers with units, such as `24h`, `1h30m` or `1.5s`; or `0`. */
export function isDuration(text: string): boolean {
  return DURATION.test(text);
}
