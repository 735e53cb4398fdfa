import { IsIn } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { LIMITS } from '../../contract/limits.js';
import { DescribedDto, QuerySpecDto } from './resource.js';
import { IsName, IsShape, IsTexts, Optional } from './shape.js';

@JSONSchema({
  description:
    'Users who match are members as long as they match. Members have no order: a `sort` is kept as it was sent, and has no effect.',
})
export class MemberQueryDto {
  @IsIn(['user']) kind!: 'user';
  @Optional() @IsIn(['items']) fetch?: 'items';
  @IsShape(() => QuerySpecDto) spec!: QuerySpecDto;
}

/** What a group is: the body of a replacement, and of a patch once it is merged. */
export class GroupDto extends DescribedDto {
  @Optional() @IsTexts({ max: LIMITS.members, maxLength: LIMITS.text }) memberLinks?: string[];
  @Optional() @IsShape(() => MemberQueryDto) memberQuery?: MemberQueryDto;
}

export class CreateGroupDto extends GroupDto {
  @IsName() name!: string;
}
