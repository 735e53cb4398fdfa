import { IsIn } from 'class-validator';
import { kindOf } from '../contract/kinds.js';
import { LIMITS } from '../contract/limits.js';
import type { PolicyDocument, PolicyState } from '../model/control-events.js';
import { TARGET_KINDS } from '../model/permission.js';
import { policyRules } from '../model/policy.js';
import { DescribedDto } from '../shapes/resource.js';
import { IsName, IsShapes, IsTexts, Optional } from '../shapes/shape.js';
import { type ShapedKind, shaped } from './shaped-kind.js';

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

class CreatePolicyDto extends PolicyRulesDto {
  @IsName() name!: string;
  @IsIn(TARGET_KINDS) targetKind!: (typeof TARGET_KINDS)[number];
}

/** What a policy is: the body of a replacement, and of a patch once it is merged. Built-in policies are on every kind. */
class PolicyDto extends PolicyRulesDto {
  @IsIn([...TARGET_KINDS, '*']) targetKind!: (typeof TARGET_KINDS)[number] | '*';
}

export const POLICY: ShapedKind<PolicyState, PolicyDocument> = {
  kind: kindOf('policy'),
  ...shaped(PolicyDto, CreatePolicyDto),
  optional: ['target', 'targetLinks'],
  complete: ({ description, tags = {}, bindings = [], ...rules }: PolicyDto, name) => ({
    description: description ?? name,
    tags,
    bindings,
    ...rules,
  }),
  ...policyRules,
};
