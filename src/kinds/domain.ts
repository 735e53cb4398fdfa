import { JSONSchema } from 'class-validator-jsonschema';
import { kindOf } from '../contract/kinds.js';
import { LIMITS } from '../contract/limits.js';
import type { DomainDocument, DomainState } from '../model/control-events.js';
import { completedSpec, type SentDomainSpec } from '../model/domain-spec.js';
import { hostNameFault } from '../platform/host-name.js';
import { RegexCheck } from '../platform/regex/regex.js';
import { compileShape } from '../shapes/compiled.js';
import { DescribedDto } from '../shapes/resource.js';
import { IsShape, IsText } from '../shapes/shape.js';
import { distinct, member, specFaults } from './domain-rules.js';
import { DomainSpecDto } from './domain-spec.js';
import type { ShapedKind } from './shaped-kind.js';

/** What a domain is: the body of a replacement, and of a patch once it is merged. */
class DomainDto extends DescribedDto {
  @IsShape(() => DomainSpecDto) spec!: DomainSpecDto;
}

@JSONSchema({
  description:
    'The name is a fully qualified host name in lower case, its labels in other scripts as A-labels, without wildcard. It is unique over the whole service.',
})
export class CreateDomainDto extends DomainDto {
  @IsText({ min: 1, max: LIMITS.hostName }) name!: string;
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
