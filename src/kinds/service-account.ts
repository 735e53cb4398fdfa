import { kindOf } from '../contract/kinds.js';
import type { ServiceAccountState } from '../model/control-events.js';
import { DescribedDto } from '../shapes/resource.js';
import { Example, IsName } from '../shapes/shape.js';
import { completeDescribed, type ShapedKind, shaped } from './shaped-kind.js';

@Example({ name: 'ci', description: 'The build server' })
class CreateServiceAccountDto extends DescribedDto {
  @IsName() name!: string;
}

export const SERVICE_ACCOUNT: ShapedKind<ServiceAccountState> = {
  kind: kindOf('serviceaccount'),
  ...shaped(DescribedDto, CreateServiceAccountDto),
  complete: completeDescribed,
  gives: [],
};
