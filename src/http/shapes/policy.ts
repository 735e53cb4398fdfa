import { IsIn } from 'class-validator';
import { TARGET_KINDS } from '../../model/permission.js';
import { MOST_BINDINGS, MOST_LINKS, MOST_PERMISSIONS } from '../../model/policy.js';
import { NAME_PATTERN } from '../../model/resource.js';
import { DescribedDto } from './resource.js';
import { IsInstant, IsShapes, IsText, IsTexts, Optional } from './shape.js';

class BindingDto {
  @IsTexts({ max: MOST_PERMISSIONS, maxLength: 64 }) permissions!: string[];
  @IsTexts({ max: MOST_LINKS, maxLength: 1024 }) principalLinks!: string[];
}

class PolicyRulesDto extends DescribedDto {
  @Optional() @IsIn(['all']) target?: 'all';
  @Optional() @IsTexts({ max: MOST_LINKS, maxLength: 1024 }) targetLinks?: string[];
  @Optional() @IsShapes(() => BindingDto, { max: MOST_BINDINGS }) bindings?: BindingDto[];
}

export class CreatePolicyDto extends PolicyRulesDto {
  @IsText({ min: 2, max: 63, pattern: NAME_PATTERN }) name!: string;
  @IsIn(TARGET_KINDS) targetKind!: (typeof TARGET_KINDS)[number];
}

/** What a policy is: the body of a replacement, and of a patch once it is merged. Built-in policies are on every kind. */
export class PolicyDto extends PolicyRulesDto {
  @IsIn([...TARGET_KINDS, '*']) targetKind!: (typeof TARGET_KINDS)[number] | '*';
}

/** The query parameters of an access report, as text. */
export class AccessReportDto {
  @Optional() @IsInstant() at?: string;
}
