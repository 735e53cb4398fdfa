import { IsDescription, IsInstant, IsText, Optional } from './shape.js';

export class AddKeyDto {
  @IsDescription() description!: string;
  @Optional() @IsInstant() expires?: string;
}

export class RemoveKeyDto {
  @IsText({ min: 1, max: 128 }) id!: string;
}
