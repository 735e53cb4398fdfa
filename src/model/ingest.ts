/** Named mappings of what well-known senders send; `http/ingest/presets.ts` has them. */
export const PRESETS = ['vector', 'fluentbit', 'syslog', 'cloudtrail', 'kubernetes', 'cloudevents', 'plain'] as const;
export type Preset = (typeof PRESETS)[number];

/** A JSON pointer (RFC 6901) into the line, or a constant. */
type Source = string | { readonly value: string };

/** One source, or several, of which the first that has a text counts. */
export type Sources = Source | readonly Source[];

/** Where the members of an event come from if a line is not an event itself. */
export interface IngestMapping {
  readonly resource?: { readonly type?: Sources; readonly name?: Sources; readonly id?: Sources };
  readonly subject?: { readonly email?: Sources; readonly name?: Sources };
  readonly action?: Sources;
  readonly result?: Sources;
  readonly message?: Sources;
  readonly time?: Sources;
  /** Names the line among all that a publisher sends to the context. */
  readonly key?: Sources;
  /** As `key`: together they name the line, such as file and offset. Without any one of them they name nothing. */
  readonly position?: readonly Sources[];
}

/** The `ingest` settings of an audit context. What they say themselves replaces what the preset says. */
export interface IngestSettings extends IngestMapping {
  readonly preset?: Preset;
}
