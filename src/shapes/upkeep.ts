import { IsBoolean, IsIn, IsInt, Max, Min } from 'class-validator';
import { LIMITS } from '../contract/limits.js';
import { Example, IsFlag, IsPageSize, IsText, IsTexts, Means, Optional } from './shape.js';

/** Which part of the log the read model is compared with. */
@Example({ repair: true, topic: 'audit', partition: 0, from: 0, to: 1000 })
export class ReconcileDto {
  @Optional() @Means('Whether to write what the log says over what differs.') @IsBoolean() repair?: boolean;
  @Optional()
  @Means('Only records of this topic; of all if left out.', 'audit')
  @IsIn(['audit', 'control'])
  topic?: 'audit' | 'control';
  @Optional() @Means('Only records of this partition.', 0) @IsInt() @Min(0) @Max(1_000_000) partition?: number;
  @Optional()
  @Means('Only records from this offset on.', 0)
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  from?: number;
  @Optional()
  @Means('Only records before this offset.', 1000)
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  to?: number;
}

export class DeadLetterListDto {
  @Optional() @IsPageSize() limit?: string;
  @Optional()
  @Means('Where to continue: the `cursor` in a link of an earlier answer, unchanged. Opaque.')
  @IsText({ min: 1, max: LIMITS.text })
  cursor?: string;
  @Optional() @Means('Whether to list only those that were not replayed.') @IsFlag() open?: string;
  @Optional() @Means('Whether to show the bytes of each record, in base64.') @IsFlag() raw?: string;
}

@Example({ place: 'control/0/17' })
export class SkipDto {
  @Means('Place of a record of `control` that stops every process: `control/0/{offset}`.', 'control/0/17')
  @IsText({ pattern: '^control/0/[0-9]{1,15}$' })
  place!: string;
}

@Example({ places: ['audit/0/4711'] })
export class ReplayDto {
  @Optional()
  @Means('`topic/partition/offset` of each; all that were not replayed if left out.', ['audit/0/4711'])
  @IsTexts({ min: 1, max: LIMITS.page.most, maxLength: 256 })
  places?: string[];
  @Optional() @Means('Whether to replay those again that were replayed.') @IsBoolean() force?: boolean;
}
