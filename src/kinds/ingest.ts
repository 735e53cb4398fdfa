import { IsIn } from 'class-validator';
import type { FieldFault } from '../contract/errors.js';
import { LIMITS } from '../contract/limits.js';
import { type IngestSettings, PRESETS, type Preset, type Sources } from '../model/ingest.js';
import { isObject } from '../model/json.js';
import { IsShape, Means, Optional, Satisfies } from '../shapes/shape.js';

const MOST = 10;
/** RFC 6901, but for the pointer to the whole line. */
const POINTER = { type: 'string', maxLength: LIMITS.text, pattern: '^(/([^/~]|~[01])*)+$' };
const CONSTANT = {
  type: 'object',
  properties: { value: { description: 'The text itself.', type: 'string', minLength: 1, maxLength: LIMITS.text } },
  required: ['value'],
  additionalProperties: false,
};
const LIST = { type: 'array', items: { oneOf: [POINTER, CONSTANT] }, minItems: 1, maxItems: MOST };
const SOURCES = { oneOf: [POINTER, CONSTANT, LIST] };

const IsSources = (): PropertyDecorator => Satisfies(SOURCES);

export class IngestResourceDto {
  @Optional() @Means('Where the type of the resource is.', '/kind') @IsSources() type?: Sources;
  @Optional() @Means('Where the name of the resource is.', '/order/name') @IsSources() name?: Sources;
  @Optional() @Means('Where the identifier of the resource is.', '/order/id') @IsSources() id?: Sources;
}

export class IngestSubjectDto {
  @Optional() @Means('Where the e-mail address of who did it is.', '/user/email') @IsSources() email?: Sources;
  @Optional() @Means('Where the name of who did it is.', '/user/name') @IsSources() name?: Sources;
}

@Means(
  'How lines that are no events become events. Where something is: a JSON pointer into the line such as `/user/name`, a constant such as `{"value": "a text"}`, or an array of these, of which the first that has a text counts.',
)
export class IngestSettingsDto {
  @Optional()
  @Means('What the other members default to, by shipper or format.', 'vector')
  @IsIn(PRESETS)
  preset?: Preset;
  @Optional() @Means('What it was done to.') @IsShape(() => IngestResourceDto) resource?: IngestResourceDto;
  @Optional() @Means('Who did it.') @IsShape(() => IngestSubjectDto) subject?: IngestSubjectDto;
  @Optional() @Means('Where the type of the action is.', '/verb') @IsSources() action?: Sources;
  @Optional() @Means('Where the status of the result is.', '/status') @IsSources() result?: Sources;
  @Optional() @Means('Where the message of the result is.', '/message') @IsSources() message?: Sources;
  @Optional() @Means('Where the time of the event is.', ['/timestamp', '/time']) @IsSources() time?: Sources;
  @Optional() @Means('Where what identifies the event is: it is recorded once.', '/id') @IsSources() key?: Sources;
  @Optional()
  @Means('Where the position of the line in its source is, in parts.', ['/file', '/offset'])
  @Satisfies({ type: 'array', items: SOURCES, minItems: 1, maxItems: MOST })
  position?: Sources[];
}

/** What the shape does not say: every event has a resource. */
export function ingestFaults(settings: unknown): FieldFault[] {
  if (!isObject(settings)) return [];
  const { preset, resource } = settings as IngestSettings;
  const isNamed = preset !== undefined || resource?.name !== undefined || resource?.id !== undefined;
  if (isNamed) return [];
  const reason = 'requires a preset, or resource.name or resource.id: every event has a resource';
  return [{ pointer: '/ingest', reason }];
}
