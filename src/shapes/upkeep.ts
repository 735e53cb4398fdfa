import { IsBoolean, IsInt, Max, Min } from 'class-validator';
import { LIMITS, PAGE_SIZE_PATTERN } from '../contract/limits.js';
import { IsText, IsTexts, Optional } from './shape.js';

/** Which part of the log the read model is compared with. */
export class ReconcileDto {
  @Optional() @IsBoolean() repair?: boolean;
  @Optional() @IsText({ pattern: '^(audit|control)$' }) topic?: 'audit' | 'control';
  @Optional() @IsInt() @Min(0) @Max(1_000_000) partition?: number;
  /** Offset, inclusive. */
  @Optional() @IsInt() @Min(0) @Max(Number.MAX_SAFE_INTEGER) from?: number;
  /** Offset, exclusive. */
  @Optional() @IsInt() @Min(0) @Max(Number.MAX_SAFE_INTEGER) to?: number;
}

export class DeadLetterListDto {
  @Optional() @IsText({ pattern: PAGE_SIZE_PATTERN }) limit?: string;
  @Optional() @IsText({ min: 1, max: LIMITS.text }) cursor?: string;
  /** Only those that were not replayed. */
  @Optional() @IsText({ pattern: '^(true|false)$' }) open?: 'true' | 'false';
  /** With the bytes of each record, in base64. */
  @Optional() @IsText({ pattern: '^(true|false)$' }) raw?: 'true' | 'false';
}

export class ReplayDto {
  /** `topic/partition/offset` of each; by default all that were not replayed. */
  @Optional() @IsTexts({ min: 1, max: LIMITS.page.most, maxLength: 256 }) places?: string[];
  @Optional() @IsBoolean() force?: boolean;
}
