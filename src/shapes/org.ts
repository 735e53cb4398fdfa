import { Example, IsDescription, IsName, IsTags, Means, Optional } from './shape.js';

@Example({ name: 'acme', description: 'Everything of Acme', tags: { plan: 'pro' } })
export class CreateOrgDto {
  @Means('Name, unique over the whole service; it never changes.', 'acme') @IsName() name!: string;
  @Optional() @IsDescription() description?: string;
  @Optional() @IsTags() tags?: Record<string, string>;
}
