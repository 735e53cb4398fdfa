import { IsIn } from 'class-validator';
import { kindOf } from '../contract/kinds.js';
import { LIMITS } from '../contract/limits.js';
import type { PolicyDocument, PolicyState } from '../model/control-events.js';
import { TARGET_KINDS } from '../model/permission.js';
import { policyRules } from '../model/policy.js';
import { DescribedDto } from '../shapes/resource.js';
import { Example, IsName, IsShapes, IsTexts, Means, Optional } from '../shapes/shape.js';
import { type ShapedKind, shaped } from './shaped-kind.js';

const LINKS = { max: LIMITS.policy.links, maxLength: LIMITS.text };

class BindingDto {
  @Means('Names of the permissions to grant.', ['edit'])
  @IsTexts({ max: LIMITS.policy.permissions, maxLength: 64 })
  permissions!: string[];
  @Means('Links of the users, service accounts and groups to grant them to.', ['/org/acme/group/devs'])
  @IsTexts(LINKS)
  principalLinks!: string[];
}

class PolicyRulesDto extends DescribedDto {
  @Optional()
  @Means('`all`: all resources of the kind; in place of `targetLinks`.', 'all')
  @IsIn(['all'])
  target?: 'all';
  @Optional()
  @Means('Links of the resources; in place of `target`.', ['/org/acme/group/devs'])
  @IsTexts(LINKS)
  targetLinks?: string[];
  @Optional()
  @Means('Who gets which permissions.')
  @IsShapes(() => BindingDto, { max: LIMITS.policy.bindings })
  bindings?: BindingDto[];
}

@Example({
  name: 'deployers',
  targetKind: 'serviceaccount',
  target: 'all',
  bindings: [{ permissions: ['edit'], principalLinks: ['/org/acme/group/devs'] }],
})
class CreatePolicyDto extends PolicyRulesDto {
  @IsName() name!: string;
  @Means('The kind of resources.', 'serviceaccount') @IsIn(TARGET_KINDS) targetKind!: (typeof TARGET_KINDS)[number];
}

/** What a policy is: the body of a replacement, and of a patch once it is merged. Built-in policies are on every kind. */
class PolicyDto extends PolicyRulesDto {
  @Means('The kind of resources; `*`: every kind.', 'serviceaccount') @IsIn([...TARGET_KINDS, '*']) targetKind!:
    | (typeof TARGET_KINDS)[number]
    | '*';
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
