import { IsIn } from 'class-validator';
import { LIMITS } from '../../contract/limits.js';
import { TARGET_KINDS } from '../../model/permission.js';
import { DescribedDto } from './resource.js';
import { IsInstant, IsName, IsShapes, IsTexts, Optional } from './shape.js';

const LINKS = { max: LIMITS.policy.links, maxLength: LIMITS.text };

class BindingDto {
  @IsTexts({ max: LIMITS.policy.permissions, maxLength: 64 }) permissions!: string[];
  @IsTexts(LINKS) principalLinks!: string[];
}

class PolicyRulesDto extends DescribedDto {
  @Optional() @IsIn(['all']) target?: 'all';
  @Optional() @IsTexts(LINKS) targetLinks?: string[];
  @Optional() @IsShapes(() => BindingDto, { max: LIMITS.policy.bindings }) bindings?: BindingDto[];
}

export class CreatePolicyDto extends PolicyRulesDto {
  @IsName() name!: string;
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
