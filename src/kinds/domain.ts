import type { FieldFault } from '../contract/errors.js';
import { kindOf } from '../contract/kinds.js';
import { LIMITS } from '../contract/limits.js';
import type { DomainDocument, DomainState } from '../model/control-events.js';
import { completedSpec, type SentDomainSpec } from '../model/domain-spec.js';
import { isObject } from '../model/json.js';
import { hostNameFault } from '../platform/host-name.js';
import { RegexCheck, regexFaults } from '../platform/regex/regex.js';
import { escapePointer } from '../platform/text.js';
import { compileShape } from '../shapes/compiled.js';
import { DescribedDto } from '../shapes/resource.js';
import { Example, FORMATS, IsShape, IsText, Means } from '../shapes/shape.js';
import { DomainSpecDto } from './domain-spec.js';
import type { ShapedKind } from './shaped-kind.js';

/** What a domain is: the body of a replacement, and of a patch once it is merged. */
class DomainDto extends DescribedDto {
  @Means('What is taken and where it goes.') @IsShape(() => DomainSpecDto) spec!: DomainSpecDto;
}

@Example(
  {
    name: 'www.example.com',
    spec: { dnsMode: 'cname', ports: [{ number: 443, protocol: 'http2', routes: [{ prefix: '/', port: 8080 }] }] },
  },
  'The name is a fully qualified host name in lower case, its labels in other scripts as A-labels, without wildcard. It is unique over the whole service.',
)
export class CreateDomainDto extends DomainDto {
  @Means('Fully qualified host name.', 'www.example.com') @IsText({ min: 1, max: LIMITS.hostName }) name!: string;
}

const shapeFaults = compileShape(DomainDto);
const creationFaults = compileShape(CreateDomainDto);

export const DOMAIN: ShapedKind<DomainState, DomainDocument> = {
  kind: kindOf('domain'),
  shape: DomainDto,
  newCheck() {
    const regexes = new RegexCheck();
    return (document) => distinct([...shapeFaults(document), ...specFaults(member(document, 'spec'), regexes)]);
  },
  creation: CreateDomainDto,
  newCreationCheck() {
    const regexes = new RegexCheck();
    return (body) =>
      distinct([...creationFaults(body), ...nameFaults(body), ...specFaults(member(body, 'spec'), regexes)]);
  },
  complete: ({ description, tags = {}, spec }: DomainDto, name) => ({
    description: description ?? name.slice(0, LIMITS.description),
    tags,
    spec: completedSpec(spec as SentDomainSpec),
  }),
  gives: [],
};

function nameFaults(body: unknown) {
  const name = member(body, 'name');
  const reason = typeof name === 'string' && name !== '' ? hostNameFault(name) : undefined;
  return reason === undefined ? [] : [{ pointer: '/name', reason }];
}

/** Checks the rules that the shape cannot express, on a document of any shape, so that all faults are reported at once. */
function specFaults(spec: unknown, regexes: RegexCheck): FieldFault[] {
  const ports = items(member(spec, 'ports'));
  const faults: FieldFault[] = [];
  const numbers = new Map<unknown, number>();
  for (const [index, port] of ports.entries()) {
    const pointer = `/spec/ports/${index}`;
    const number = member(port, 'number');
    const first = number === undefined ? undefined : numbers.get(number);
    if (first === undefined) numbers.set(number, index);
    else faults.push({ pointer: `${pointer}/number`, reason: `is already used by port ${first}; use another` });
    faults.push(...portFaults(port, pointer, regexes));
  }
  return faults;
}

function portFaults(port: unknown, pointer: string, regexes: RegexCheck): FieldFault[] {
  const routes = items(member(port, 'routes')).flatMap((route, index) =>
    routeFaults(route, `${pointer}/routes/${index}`, regexes),
  );
  const origins = items(member(member(port, 'cors'), 'allowOrigins')).flatMap((origin, index) => {
    const at = `${pointer}/cors/allowOrigins/${index}`;
    const [exact, regex] = [member(origin, 'exact'), member(origin, 'regex')];
    if (isObject(origin) && exact === undefined && regex === undefined) {
      return [{ pointer: at, reason: 'requires exact or regex' }];
    }
    return regexFaults(regexes, regex, `${at}/regex`);
  });
  return [...routes, ...origins];
}

function routeFaults(route: unknown, pointer: string, regexes: RegexCheck): FieldFault[] {
  const set = member(member(member(route, 'headers'), 'request'), 'set');
  const unsound = Object.keys(isObject(set) ? set : {}).filter((name) => !FORMATS['http-token']?.(name));
  return [
    ...regexFaults(regexes, member(route, 'regex'), `${pointer}/regex`),
    ...regexFaults(regexes, member(route, 'hostRegex'), `${pointer}/hostRegex`),
    ...unsound.map((name) => ({
      pointer: `${pointer}/headers/request/set/${escapePointer(name)}`,
      reason: 'must be an HTTP header name: letters, digits and hyphens',
    })),
  ];
}

function member(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function items(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function distinct(faults: readonly FieldFault[]): FieldFault[] {
  const byText = new Map(faults.map((fault) => [`${fault.pointer} ${fault.reason}`, fault]));
  return [...byText.values()].slice(0, LIMITS.faults);
}
