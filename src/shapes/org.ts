import { IsDescription, IsName, IsTags, Optional } from './shape.js';

export class CreateOrgDto {
  @IsName() name!: string;
  @Optional() @IsDescription() description?: string;
  @Optional() @IsTags() tags?: Record<string, string>;
}
