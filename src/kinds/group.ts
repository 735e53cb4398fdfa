import { IsIn } from 'class-validator';
import { kindOf } from '../contract/kinds.js';
import { LIMITS } from '../contract/limits.js';
import type { GroupDocument, GroupState } from '../model/control-events.js';
import { groupRules } from '../model/group.js';
import type { MemberQuery } from '../model/member-query.js';
import { DescribedDto, QuerySpecDto, specFaults } from '../shapes/resource.js';
import { Example, IsName, IsShape, IsTexts, Means, Optional } from '../shapes/shape.js';
import { propertyFault } from './properties.js';
import { type ShapedKind, shaped } from './shaped-kind.js';
import { USER } from './user.js';

@Means(
  'Users who match are members as long as they match. Members have no order: a `sort` is kept as it was sent, and has no effect.',
)
class MemberQueryDto {
  @Means('Always `user`.') @IsIn(['user']) kind!: 'user';
  @Optional() @Means('Always `items`.') @IsIn(['items']) fetch?: 'items';
  @Means('Which users.') @IsShape(() => QuerySpecDto) spec!: QuerySpecDto;
}

/** What a group is: the body of a replacement, and of a patch once it is merged. */
class GroupDto extends DescribedDto {
  @Optional()
  @Means('Links of the users and service accounts in the group.', ['/org/acme/user/ann@example.com'])
  @IsTexts({ max: LIMITS.members, maxLength: LIMITS.text })
  memberLinks?: string[];
  @Optional()
  @Means('Users who match are members besides.')
  @IsShape(() => MemberQueryDto)
  memberQuery?: MemberQueryDto;
}

@Example({ name: 'devs', description: 'Developers', memberLinks: ['/org/acme/user/ann@example.com'] })
class CreateGroupDto extends GroupDto {
  @IsName() name!: string;
}

/** What the shape of a query cannot say. */
const queryFaults = ({ memberQuery }: GroupDto) =>
  memberQuery ? specFaults(memberQuery.spec, 'user', '/memberQuery/spec', (path) => propertyFault(USER, path)) : [];

/** Of any type: clients in Go cannot be made of an array or an object. */
const LINKS_PATCH = {
  description:
    'The links of the members, or an object with `$append`, `$drop` or `$replace` and the links to add, to remove, or that take the place of all; `null`: none.',
  examples: [{ $append: ['/org/acme/user/ann@example.com'] }],
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
