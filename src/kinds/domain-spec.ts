import { IsBoolean, IsIn, IsInt, Max, Min } from 'class-validator';
import { LIMITS } from '../contract/limits.js';
import { CHALLENGE_TYPES, CIPHERS, DNS_MODES, PROTOCOLS, TLS_VERSIONS } from '../model/domain-spec.js';
import { IsShape, IsShapes, IsText, IsTextMap, IsTexts, Means, Optional, Satisfies } from '../shapes/shape.js';

const LINK = { max: LIMITS.text, format: 'platform-link' };
const PATH = { max: LIMITS.text, pattern: '^/', format: 'no-control-characters' };
const HOST_PREFIX = { min: 1, max: LIMITS.hostName, pattern: '^[A-Za-z0-9_.*-]+$' };
const REGEX = { min: 1, max: LIMITS.domain.regex };
const TOKENS = { max: LIMITS.domain.corsNames, maxLength: LIMITS.domain.corsName, format: 'http-token' };
const CIPHER = { enum: [...CIPHERS] };
/** Names of cipher suites, or arrays of such names: both shapes are in use. */
const CIPHER_SUITES = {
  type: 'array',
  minItems: 1,
  maxItems: LIMITS.domain.cipherSuites,
  items: {
    if: { type: 'array' },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema; nothing awaits it.
    then: { minItems: 1, maxItems: LIMITS.domain.cipherSuites, items: CIPHER },
    else: CIPHER,
  },
};

export class DomainHeaderSetDto {
  @Optional()
  @Means('Headers to set, by name.', { 'x-shop': '1' })
  @IsTextMap({ max: LIMITS.domain.headers })
  set?: Record<string, string>;
}

export class DomainHeadersDto {
  @Optional() @Means('Headers of the request.') @IsShape(() => DomainHeaderSetDto) request?: DomainHeaderSetDto;
}

@Means(
  'Where requests go. `regex` prevails over `prefix` (`/` unless given), and `hostRegex` over `hostPrefix`. `replacePrefix` goes with `prefix`, and has no effect where `regex` prevails. `workloadLink` prevails over those of the specification. Regular expressions are of RE2.',
)
export class DomainRouteDto {
  @Optional() @Means('Prefix of the paths that the route takes.', '/api') @IsText(PATH) prefix?: string;
  @Optional() @Means('What takes the place of the prefix.', '/v2') @IsText(PATH) replacePrefix?: string;
  @Optional()
  @Means('Regular expression of the paths that the route takes.', '^/v[0-9]+/')
  @IsText(REGEX)
  regex?: string;
  @Optional() @Means('Prefix of the hosts that the route takes.', 'www.') @IsText(HOST_PREFIX) hostPrefix?: string;
  @Optional()
  @Means('Regular expression of the hosts that the route takes.', '^shop[.]')
  @IsText(REGEX)
  hostRegex?: string;
  @Optional()
  @Means('Link of the workload that requests go to.', '/org/acme/gvc/shop/workload/web')
  @IsText(LINK)
  workloadLink?: string;
  @Optional() @Means('Port of the workload.', 8080) @IsInt() @Min(1) @Max(65_535) port?: number;
  @Optional()
  @Means('Number of the replica that requests go to.', 0)
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  replica?: number;
  @Optional() @Means('Headers to change.') @IsShape(() => DomainHeadersDto) headers?: DomainHeadersDto;
}

@Means('Needs `exact` or `regex` (of RE2); where both are there, `exact` prevails.')
export class DomainOriginDto {
  @Optional()
  @Means('The origin itself.', 'https://www.example.com')
  @IsText({ min: 1, max: LIMITS.text, format: 'no-control-characters' })
  exact?: string;
  @Optional() @Means('Regular expression of origins.', '^https://') @IsText(REGEX) regex?: string;
}

@Means(
  'Cross-origin requests. Methods are kept in upper case; `maxAge` is a duration as Go writes it, such as `1h30m`, and `24h` unless given.',
)
export class DomainCorsDto {
  @Optional()
  @Means('Origins that may call.')
  @IsShapes(() => DomainOriginDto, { max: LIMITS.domain.origins })
  allowOrigins?: DomainOriginDto[];
  @Optional() @Means('Methods that they may use.', ['GET']) @IsTexts(TOKENS) allowMethods?: string[];
  @Optional() @Means('Request headers that they may send.', ['x-request-id']) @IsTexts(TOKENS) allowHeaders?: string[];
  @Optional() @Means('Response headers that they may read.', ['etag']) @IsTexts(TOKENS) exposeHeaders?: string[];
  @Optional()
  @Means('How long browsers may keep the answer to a preflight request.', '24h')
  @IsText({ max: 64, format: 'go-duration' })
  maxAge?: string;
  @Optional() @Means('Whether they may send cookies and credentials.') @IsBoolean() allowCredentials?: boolean;
}

export class DomainCertificateDto {
  @Optional()
  @Means('Link of the secret with the certificate.', '/org/acme/secret/tls')
  @IsText(LINK)
  secretLink?: string;
}

@Means(
  'At least `TLSV1_2` and all cipher suites unless given. Arrays within `cipherSuites` are flattened: answers show one array of names, each once.',
)
export class DomainTlsDto {
  @Optional()
  @Means('The lowest version of TLS.', 'TLSV1_2')
  @IsIn(TLS_VERSIONS)
  minProtocolVersion?: (typeof TLS_VERSIONS)[number];
  @Optional()
  @Means('Names of cipher suites, or arrays of such names.', ['AES128-GCM-SHA256'])
  @Satisfies(CIPHER_SUITES)
  cipherSuites?: unknown[];
  @Optional()
  @Means('Certificate authorities of clients.')
  @IsShape(() => DomainCertificateDto)
  clientCertificate?: DomainCertificateDto;
  @Optional()
  @Means('Certificate of the server.')
  @IsShape(() => DomainCertificateDto)
  serverCertificate?: DomainCertificateDto;
}

@Means('A port, `http2` unless told otherwise. The numbers of the ports of a domain are distinct.')
export class DomainPortDto {
  @Means('Number of the port.', 443) @IsInt() @Min(1) @Max(65_535) number!: number;
  @Optional()
  @Means('Protocol of the port; `http2` if left out.', 'http2')
  @IsIn(PROTOCOLS)
  protocol?: (typeof PROTOCOLS)[number];
  @Optional()
  @Means('Where requests go.')
  @IsShapes(() => DomainRouteDto, { max: LIMITS.domain.routes })
  routes?: DomainRouteDto[];
  @Optional() @Means('Which origins may call.') @IsShape(() => DomainCorsDto) cors?: DomainCorsDto;
  @Optional() @Means('TLS of the port.') @IsShape(() => DomainTlsDto) tls?: DomainTlsDto;
}

@Means(
  'What is taken and where it goes. `dnsMode` is `cname` and `ports` is port 443 with `http2` unless given. A `workloadLink` of a route prevails over that of the specification, and that over `gvcLink`. `acceptAllHosts` prevails over `acceptAllSubdomains`. Links are `/org/{org}/...` or `//...`; they are not followed.',
)
export class DomainSpecDto {
  @Optional()
  @Means('How the name is resolved; `cname` if left out.', 'cname')
  @IsIn(DNS_MODES)
  dnsMode?: (typeof DNS_MODES)[number];
  @Optional() @Means('Link of the GVC that requests go to.', '/org/acme/gvc/shop') @IsText(LINK) gvcLink?: string;
  @Optional()
  @Means('Link of the workload that requests go to.', '/org/acme/gvc/shop/workload/web')
  @IsText(LINK)
  workloadLink?: string;
  @Optional()
  @Means('How the certificate authority checks the name.', 'http01')
  @IsIn(CHALLENGE_TYPES)
  certChallengeType?: (typeof CHALLENGE_TYPES)[number];
  @Optional() @Means('Whether requests for every host are taken.') @IsBoolean() acceptAllHosts?: boolean;
  @Optional() @Means('Whether requests for every subdomain are taken.') @IsBoolean() acceptAllSubdomains?: boolean;
  @Optional()
  @Means('Ports; 443 with `http2` if left out.')
  @IsShapes(() => DomainPortDto, { max: LIMITS.domain.ports })
  ports?: DomainPortDto[];
}
