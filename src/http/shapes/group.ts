import { IsIn } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { NAME_PATTERN } from '../../model/resource.js';
import { DescribedDto, QuerySpecDto } from './resource.js';
import { IsShape, IsText, IsTexts, Optional } from './shape.js';

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
  @Optional() @IsTexts({ max: 200, maxLength: 1024 }) memberLinks?: string[];
  @Optional() @IsShape(() => MemberQueryDto) memberQuery?: MemberQueryDto;
}

export class CreateGroupDto extends GroupDto {
  @IsText({ min: 2, max: 63, pattern: NAME_PATTERN }) name!: string;
}
