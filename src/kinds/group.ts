import { IsIn } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { kindOf } from '../contract/kinds.js';
import { LIMITS } from '../contract/limits.js';
import type { GroupDocument, GroupState } from '../model/control-events.js';
import { groupRules } from '../model/group.js';
import type { MemberQuery } from '../model/member-query.js';
import { DescribedDto, QuerySpecDto, specFaults } from '../shapes/resource.js';
import { IsName, IsShape, IsTexts, Optional } from '../shapes/shape.js';
import { type ShapedKind, shaped } from './shaped-kind.js';

@JSONSchema({
  description:
    'Users who match are members as long as they match. Members have no order: a `sort` is kept as it was sent, and has no effect.',
})
class MemberQueryDto {
  @IsIn(['user']) kind!: 'user';
  @Optional() @IsIn(['items']) fetch?: 'items';
  @IsShape(() => QuerySpecDto) spec!: QuerySpecDto;
}

/** What a group is: the body of a replacement, and of a patch once it is merged. */
class GroupDto extends DescribedDto {
  @Optional() @IsTexts({ max: LIMITS.members, maxLength: LIMITS.text }) memberLinks?: string[];
  @Optional() @IsShape(() => MemberQueryDto) memberQuery?: MemberQueryDto;
}

class CreateGroupDto extends GroupDto {
  @IsName() name!: string;
}

/** What the shape of a query cannot say. */
const queryFaults = ({ memberQuery }: GroupDto) =>
  memberQuery ? specFaults(memberQuery.spec, 'user', '/memberQuery/spec') : [];

const LINKS = { type: 'array', items: { type: 'string' } };
const LINKS_PATCH = {
  type: ['array', 'object', 'null'],
  items: LINKS.items,
  properties: { $append: LINKS, $drop: LINKS, $replace: LINKS },
  additionalProperties: false,
};

export const GROUP: ShapedKind<GroupState, GroupDocument> = {
  kind: kindOf('group'),
  ...shaped(GroupDto, CreateGroupDto, queryFaults),
  optional: ['memberQuery'],
  patched: { memberLinks: LINKS_PATCH },
  complete({ description, tags = {}, memberLinks = [], memberQuery }: GroupDto, name) {
    const query = memberQuery && { memberQuery: completed(memberQuery) };
    return { description: description ?? name, tags, memberLinks, ...query };
  },
  ...groupRules,
};

function completed({ kind, spec }: MemberQueryDto): MemberQuery {
  return { kind, fetch: 'items', spec: { match: 'all', terms: [], ...spec } };
}
