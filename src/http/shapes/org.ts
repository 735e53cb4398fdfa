import { NAME_PATTERN } from '../../model/resource.js';
import { IsTags, IsText, Optional } from './shape.js';

export class CreateOrgDto {
  @IsText({ min: 2, max: 63, pattern: NAME_PATTERN }) name!: string;
  @Optional() @IsText({ max: 250, format: 'trimmed' }) description?: string;
  @Optional() @IsTags() tags?: Record<string, string>;
}
