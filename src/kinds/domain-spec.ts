import { IsBoolean, IsIn, IsInt, Max, Min } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { LIMITS } from '../contract/limits.js';
import { CHALLENGE_TYPES, CIPHERS, DNS_MODES, PROTOCOLS, TLS_VERSIONS } from '../model/domain-spec.js';
import { IsShape, IsShapes, IsText, IsTextMap, IsTexts, Optional, Satisfies } from '../shapes/shape.js';

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
  @Optional() @IsTextMap({ max: LIMITS.domain.headers }) set?: Record<string, string>;
}

export class DomainHeadersDto {
  @Optional() @IsShape(() => DomainHeaderSetDto) request?: DomainHeaderSetDto;
}

@JSONSchema({
  description:
    'Where requests go. `regex` prevails over `prefix` (`/` unless given), and `hostRegex` over `hostPrefix`. `replacePrefix` goes with `prefix`, and has no effect where `regex` prevails. `workloadLink` prevails over those of the specification. Regular expressions are of RE2.',
})
export class DomainRouteDto {
  @Optional() @IsText(PATH) prefix?: string;
  @Optional() @IsText(PATH) replacePrefix?: string;
  @Optional() @IsText(REGEX) regex?: string;
  @Optional() @IsText(HOST_PREFIX) hostPrefix?: string;
  @Optional() @IsText(REGEX) hostRegex?: string;
  @Optional() @IsText(LINK) workloadLink?: string;
  @Optional() @IsInt() @Min(1) @Max(65_535) port?: number;
  @Optional() @IsInt() @Min(0) @Max(Number.MAX_SAFE_INTEGER) replica?: number;
  @Optional() @IsShape(() => DomainHeadersDto) headers?: DomainHeadersDto;
}

@JSONSchema({ description: 'Needs `exact` or `regex` (of RE2); where both are there, `exact` prevails.' })
export class DomainOriginDto {
  @Optional() @IsText({ min: 1, max: LIMITS.text, format: 'no-control-characters' }) exact?: string;
  @Optional() @IsText(REGEX) regex?: string;
}

@JSONSchema({
  description:
    'Cross-origin requests. Methods are kept in upper case; `maxAge` is a duration as Go writes it, such as `1h30m`, and `24h` unless given.',
})
export class DomainCorsDto {
  @Optional() @IsShapes(() => DomainOriginDto, { max: LIMITS.domain.origins }) allowOrigins?: DomainOriginDto[];
  @Optional() @IsTexts(TOKENS) allowMethods?: string[];
  @Optional() @IsTexts(TOKENS) allowHeaders?: string[];
  @Optional() @IsTexts(TOKENS) exposeHeaders?: string[];
  @Optional() @IsText({ max: 64, format: 'go-duration' }) maxAge?: string;
  @Optional() @IsBoolean() allowCredentials?: boolean;
}

export class DomainCertificateDto {
  @Optional() @IsText(LINK) secretLink?: string;
}

@JSONSchema({
  description:
    'At least `TLSV1_2` and all cipher suites unless given. Arrays within `cipherSuites` are flattened: answers show one array of names, each once.',
})
export class DomainTlsDto {
  @Optional() @IsIn(TLS_VERSIONS) minProtocolVersion?: (typeof TLS_VERSIONS)[number];
  @Optional() @Satisfies(CIPHER_SUITES) cipherSuites?: unknown[];
  @Optional() @IsShape(() => DomainCertificateDto) clientCertificate?: DomainCertificateDto;
  @Optional() @IsShape(() => DomainCertificateDto) serverCertificate?: DomainCertificateDto;
}

@JSONSchema({
  description: 'A port, `http2` unless told otherwise. The numbers of the ports of a domain are distinct.',
})
export class DomainPortDto {
  @IsInt() @Min(1) @Max(65_535) number!: number;
  @Optional() @IsIn(PROTOCOLS) protocol?: (typeof PROTOCOLS)[number];
  @Optional() @IsShapes(() => DomainRouteDto, { max: LIMITS.domain.routes }) routes?: DomainRouteDto[];
  @Optional() @IsShape(() => DomainCorsDto) cors?: DomainCorsDto;
  @Optional() @IsShape(() => DomainTlsDto) tls?: DomainTlsDto;
}

@JSONSchema({
  description:
    'What is taken and where it goes. `dnsMode` is `cname` and `ports` is port 443 with `http2` unless given. A `workloadLink` of a route prevails over that of the specification, and that over `gvcLink`. `acceptAllHosts` prevails over `acceptAllSubdomains`. Links are `/org/{org}/...` or `//...`; they are not followed.',
})
export class DomainSpecDto {
  @Optional() @IsIn(DNS_MODES) dnsMode?: (typeof DNS_MODES)[number];
  @Optional() @IsText(LINK) gvcLink?: string;
  @Optional() @IsText(LINK) workloadLink?: string;
  @Optional() @IsIn(CHALLENGE_TYPES) certChallengeType?: (typeof CHALLENGE_TYPES)[number];
  @Optional() @IsBoolean() acceptAllHosts?: boolean;
  @Optional() @IsBoolean() acceptAllSubdomains?: boolean;
  @Optional() @IsShapes(() => DomainPortDto, { max: LIMITS.domain.ports }) ports?: DomainPortDto[];
}
