import 'reflect-metadata';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { CreateDomainDto } from '../../src/kinds/domain.js';
import { CIPHERS, completedSpec, type SentDomainSpec } from '../../src/model/domain-spec.js';
import { compileShape } from '../../src/shapes/compiled.js';
import fc from '../support/fast-check.js';
import { seeded, unicode } from './arbitraries.js';

const compiled = compileShape(CreateDomainDto);

function acceptsByClassValidator(body: unknown): boolean {
  const domain = plainToInstance(CreateDomainDto, body);
  return validateSync(domain, { whitelist: true, forbidNonWhitelisted: true, forbidUnknownValues: true }).length === 0;
}

const optional = <T extends object>(members: { [Key in keyof T]: fc.Arbitrary<T[Key]> }) =>
  fc.record(members, { requiredKeys: [], noNullPrototype: true });
const some = <T>(...values: readonly T[]) => fc.constantFrom(...values);

const link = some('//gvc/a', '/org/acme/secret/b', '//a/b%20c/d');
const regex = some('^/a$', '(?i)x+', '[a-z]{2,3}');
const cipher = some(...CIPHERS);
const tokens = fc.array(some('get', 'X-Id', '*'), { maxLength: 3 });
const flag = fc.boolean();

const route = optional({
  prefix: some('/', '/a/b'),
  replacePrefix: some('/', '/v2'),
  regex,
  hostPrefix: some('www.', 'a'),
  hostRegex: regex,
  workloadLink: link,
  port: some(1, 8_080, 65_535),
  replica: some(0, 7),
  headers: optional({
    request: optional({ set: fc.dictionary(some('x-a', 'X-B'), unicode({ maxLength: 9 }), { noNullPrototype: true }) }),
  }),
});
const cors = optional({
  allowOrigins: fc.array(optional({ exact: some('*', 'https://a'), regex }), { maxLength: 2 }),
  allowMethods: tokens,
  allowHeaders: tokens,
  exposeHeaders: tokens,
  maxAge: some('0', '24h', '1h30m', '1.5s'),
  allowCredentials: flag,
});
const tls = optional({
  minProtocolVersion: some('TLSV1_0', 'TLSV1_1', 'TLSV1_2', 'TLSV1_3'),
  cipherSuites: fc.array(fc.oneof(cipher, fc.array(cipher, { minLength: 1, maxLength: 3 })), {
    minLength: 1,
    maxLength: 4,
  }),
  clientCertificate: optional({ secretLink: link }),
  serverCertificate: optional({ secretLink: link }),
});
const port = fc.record(
  {
    number: some(1, 443, 65_535),
    protocol: some('http', 'http2', 'tcp'),
    routes: fc.array(route, { maxLength: 3 }),
    cors,
    tls,
  },
  { requiredKeys: ['number'], noNullPrototype: true },
);
const spec = optional({
  dnsMode: some('cname', 'ns'),
  gvcLink: link,
  workloadLink: link,
  certChallengeType: some('http01', 'dns01'),
  acceptAllHosts: flag,
  acceptAllSubdomains: flag,
  ports: fc.array(port, { maxLength: 3 }),
});
const sound = fc.record(
  { name: some('a.example', 'b.example'), description: some('', 'x y'), tags: fc.constant({ a: 'b' }), spec },
  { requiredKeys: ['name', 'spec'], noNullPrototype: true },
);

const anything = fc.oneof(
  some<unknown>(
    null,
    true,
    0,
    -1,
    1.5,
    65_536,
    '',
    ' x',
    'a b',
    '/x',
    'http01',
    '24',
    [],
    [[]],
    {},
    [{}],
    ['x', 1],
    '\n',
  ),
  some('a', '😀').chain((unit) => some(128, 129, 1_024, 1_025).map((count) => unit.repeat(count))),
  unicode({ maxLength: 5 }),
  link,
  fc.array(fc.oneof(cipher, some('RC4'), fc.array(some('RC4', CIPHERS[0]), { maxLength: 2 })), { maxLength: 3 }),
);

/** Every object and array within. */
function parts(value: unknown): (Record<string, unknown> | unknown[])[] {
  if (typeof value !== 'object' || value === null) return [];
  return [value as Record<string, unknown>, ...Object.values(value).flatMap(parts)];
}

const mutated = fc
  .tuple(sound, fc.array(fc.tuple(fc.nat(), fc.nat(), anything, some('put', 'put', 'remove', 'add')), { maxLength: 3 }))
  .map(([body, mutations]) => {
    const copy = structuredClone(body);
    for (const [where, which, value, how] of mutations) {
      const all = parts(copy);
      const target = all[where % all.length] as Record<string, unknown>;
      const names = Object.keys(target);
      const chosen = names[which % Math.max(names.length, 1)];
      if (how === 'add' || chosen === undefined) target[Array.isArray(target) ? target.length : 'extra'] = value;
      else if (how === 'remove' && !Array.isArray(target)) delete target[chosen];
      else target[chosen] = value;
    }
    return copy;
  });

test('the compiled validator takes every domain that the specification allows', () => {
  fc.assert(
    fc.property(sound, (body) => {
      expect(compiled(body)).toEqual([]);
    }),
    seeded(500),
  );
});

test('the compiled validator and class-validator agree on 2,000 bodies, many of them with faults', () => {
  const seen = { valid: 0, invalid: 0 };
  fc.assert(
    fc.property(mutated, (body) => {
      const verdict = compiled(body).length === 0;
      seen[verdict ? 'valid' : 'invalid'] += 1;
      expect(verdict).toBe(acceptsByClassValidator(body));
    }),
    seeded(2_000),
  );
  expect(Math.min(seen.valid, seen.invalid)).toBeGreaterThan(300);
});

test('a completed specification is sound, and stays as it is when it is completed again', () => {
  fc.assert(
    fc.property(sound, (body) => {
      const once = completedSpec(body.spec as SentDomainSpec);
      expect(compiled({ ...body, spec: structuredClone(once) })).toEqual([]);
      expect(completedSpec(once)).toEqual(once);
    }),
    seeded(500),
  );
});
