import { LIMITS } from '../contract/limits.js';
import { Example, IsDescription, IsInstant, IsText, Means, Optional } from './shape.js';

@Example({ description: 'laptop', expires: '2030-01-31T12:00:00.000Z' })
export class AddKeyDto {
  @Means('What the key is for, or where it is kept.', 'laptop') @IsDescription() description!: string;
  @Optional()
  @Means('When the key stops working; never if left out.', '2030-01-31T12:00:00.000Z')
  @IsInstant()
  expires?: string;
}

@Example({ id: '01890a5d-ac96-774b-bcce-b302099a8057' })
export class RemoveKeyDto {
  @Means('Identifier of the key, as its list shows it.', '01890a5d-ac96-774b-bcce-b302099a8057')
  @IsText({ min: 1, max: LIMITS.identifier })
  id!: string;
}
